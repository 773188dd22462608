"""The guides: the pages of docs/guides, which an installed Thresher carries along.

The name of a page is its topic. A link to another guide becomes the command that shows it, because a terminal follows
no links.
"""

import posixpath
import re
from importlib.resources import files
from pathlib import Path

DIRECTORY = Path(str(files("thresher"))) / "guides"
"""A link to docs/guides in a checkout, a folder in an installed Thresher."""
_CODE = re.compile(r"(^```.*?^```)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"!?\[([^\[\]]+)\]\(([^()\s]+)\)")
_SCHEMES = ("http://", "https://")


def topics() -> dict[str, str]:
    """Return the title of each guide by its topic, in the order of topics."""
    return {page.stem: _title(page) for page in sorted(DIRECTORY.glob("*.md"))}


def read_guide(topic: str) -> str:
    """Return the text of a guide as Markdown without links."""
    text = (DIRECTORY / f"{topic}.md").read_text(encoding="utf-8")
    parts = _CODE.split(text)
    return "".join(part if place % 2 else _LINK.sub(_spelt_out, part) for place, part in enumerate(parts))


def _title(page: Path) -> str:
    with page.open(encoding="utf-8") as lines:
        return next(lines).removeprefix("# ").strip()


def _spelt_out(link: re.Match[str]) -> str:
    text, target = link.groups()
    if target.startswith(_SCHEMES):
        return f"{text} ({target})"
    path, _, _ = target.partition("#")
    if not path:
        return text
    name = posixpath.normpath(f"docs/guides/{path}")
    topic = name.removeprefix("docs/guides/").removesuffix(".md")
    if name == f"docs/guides/{topic}.md":
        return f"{text} (`thresher help {topic}`)"
    return text if text.strip("`") == name else f"{text} ({name})"
