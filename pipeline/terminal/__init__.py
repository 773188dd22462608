"""What a terminal shows: results and errors (`output`), `progress`, and texts of other people made `printable`."""
