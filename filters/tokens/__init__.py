"""How texts of each language are split into tokens."""
