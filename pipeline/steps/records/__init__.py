"""What the process step does with a record: a document, its verdict and its signature."""
