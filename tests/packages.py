"""The packages of the product."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINKS: tuple[str, ...] = tuple(
    sorted(path.name for path in (ROOT / "thresher").iterdir() if path.is_symlink())
)
"""The folders at the top that are packages of `thresher`, by the links in it."""
PACKAGES: tuple[str, ...] = (*LINKS, "thresher")
"""The folders of the product."""
