"""Find duplicates: `signature` computes signatures of a text, `duplicates` decides from those of all kept documents."""
