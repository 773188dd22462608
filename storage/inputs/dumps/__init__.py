"""Read the dumps of Wikipedia and Stack Exchange: large XML files, element by element."""
