"""Where the table of an archive file's input columns lies."""

FOLDER = "columns"


def kept_table_name(part: str) -> str:
    """Return the name of the table of an archive part (`source/stem`)."""
    return f"{FOLDER}/{part}.parquet"
