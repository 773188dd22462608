"""`PageEngine`: a library that extracts the text of pages in place of `extract.page`.

1. The library gets the decoded characters of a page, and its text is stored as it is: two programs that call the same
   version with the same options get the same text.
2. A page is bounded before the library gets it, by the bounds of our own extraction (`extract.html`). The library has
   no limits of its own, so it must run in a worker process (`pipeline.engine.local.part_process`).
3. `extract.html` reads what a library does not state: rights, language, licence, canonical URL.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Literal

from thresher.core import InputError
from thresher.core.installation.extras import missing_extra

EngineName = Literal["thresher", "trafilatura", "resiliparse"]

_MODULES = {
    "trafilatura": "thresher.extract.engines.trafilatura_engine",
    "resiliparse": "thresher.extract.engines.resiliparse_engine",
}
_PACKAGES = {
    "trafilatura": ("trafilatura", "htmldate", "jusText"),
    "resiliparse": ("resiliparse",),
}
"""Packages whose versions decide the result, the engine's own first."""
_EXTRA = "extract-trafilatura"
"""Brings the one engine that Thresher does not depend on."""
MARKDOWN = frozenset(("thresher", "trafilatura"))
"""Engines that write Markdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFacts:
    """Facts that an engine finds on a page; empty if it finds none."""

    title: str = ""
    author: str = ""
    """Names, separated by `; `."""
    date: str = ""
    """Day in ISO 8601."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageEngine:
    """A loaded engine."""

    name: str
    """`package@version`, followed by the versions of other packages that decide the result."""
    text: Callable[[str, bool], str]
    """Takes a page, and whether its text shall be Markdown; returns the text, empty if there is none. May raise."""
    facts: Callable[[str, str, str], EngineFacts]
    """Takes a page, its URL and the day of its fetch in ISO 8601; returns its facts. May raise."""


def engine_version(name: str) -> str:
    """Return `package@version` of an engine, as `PageEngine.name`. Raise `InputError` if it is not installed."""
    # The configuration imports this module, and they take 20 ms to import.
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    from lxml import etree  # noqa: PLC0415

    try:
        (package, own), *others = ((package, version(package)) for package in _PACKAGES[name])
    except PackageNotFoundError as error:
        raise missing_extra(
            _EXTRA, f'extract.engine = "{name}" needs the package {error.name}, which is not installed'
        ) from None
    parser = [("libxml2", ".".join(map(str, etree.LIBXML_VERSION)))] if name == "trafilatura" else []
    return "+".join([f"{package}@{own}", *(f"{other}-{its}" for other, its in [*others, *parser])])


def require_engine(name: EngineName, extractors: Sequence[str]) -> None:
    """Load an engine. Raise `InputError` if it is not one of `extractors`, because a node has another version."""
    engine = load_engine(name)
    if engine is not None and engine.name not in extractors:
        raise InputError(f"a worker has {engine.name} installed, and the run began with {extractors[0]}")


@cache
def load_engine(name: EngineName) -> PageEngine | None:
    """Return an engine; None for our own extraction. Raise `InputError` if it is not installed."""
    if name == "thresher":
        return None
    named = engine_version(name)
    module = import_module(_MODULES[name])
    return PageEngine(name=named, text=module.text, facts=module.facts)
