"""Read tables row by row: CSV, JSON lines, Parquet and Arrow. `columns` turns a row into an `InputRecord`."""
