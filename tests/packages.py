"""The packages of the product."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINKS: tuple[str, ...] = tuple(
    sorted(path.parent.name for path in (ROOT / "thresher").glob("*/__init__.py") if path.parent.is_symlink())
)
"""The folders at the top that are packages of `thresher`, by the links in it."""
PACKAGES: tuple[str, ...] = (*LINKS, "thresher")
"""The folders of the product."""
