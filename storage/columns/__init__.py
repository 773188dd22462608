"""The columns of an input, kept beside its records: their types, and the tables that hold them."""
