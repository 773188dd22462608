"""Tables as inputs: CSV, JSON lines, Parquet and Arrow, row by row (`columns` makes an `Entry` of a row)."""
