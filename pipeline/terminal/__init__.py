"""Output to a terminal: results and errors (`output`), `progress`, and foreign texts made `printable`."""
