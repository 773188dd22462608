"""The hash by which Thresher and a peer compare texts. Standard library only."""

import hashlib


def text_digest(text: str) -> str:
    """Return the hash that stands for a text."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]
