"""`byte_text`: a number of bytes for people."""


def byte_text(count: float) -> str:
    """Return the number in decimal units, such as `1.5 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
