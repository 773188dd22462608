"""Dumps of Wikipedia and Stack Exchange: large XML files, read element by element."""
