"""What is there twice: `signature` signs a text, `duplicates` decides over the signatures of all kept documents."""
