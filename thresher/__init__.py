"""Thresher for Python: the names that a user may rely on.

`Project` is a project directory with the work of the commands: `seed`, `crawl`, `ingest`, `process`, `judge`,
`annotate`, `dedup`, `export`, `report`, each with every option of its command. `Dataset` is an export, `Funnel` the
report. `Loader` streams exports into training, and needs neither a project nor PyTorch. `to_datasketch` opens a stored
signature with datasketch. `Screen` finds near duplicates in a stream in constant memory. A filter rule of your own is a
`Rule`: it reads an `AnalyzedText` and returns a `Finding`, which may hold `Edit`s of the text. A function of `annotate`
reads `Document`s. Every error that Thresher raises on purpose is a `ThresherError`; the message says what is wrong,
where, and what to do.

These names, their parameters and the fields that their docstrings name follow Semantic Versioning (CHANGELOG.md).
Everything else, in this package and in the packages below it, is internal and may change in any release. So may
everything that an underscore begins.

A name is imported when it is first used, so `import thresher` costs a few milliseconds.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thresher.core import (
        Conflict,
        CorruptData,
        Document,
        Edit,
        InputError,
        Interruption,
        ThresherError,
        Unavailable,
    )
    from thresher.filters.dedup.screen import Screen
    from thresher.filters.text import AnalyzedText, Finding, Rule
    from thresher.pipeline.duplicates.stored_minhashes import to_datasketch
    from thresher.pipeline.funnel import Funnel
    from thresher.project import Project
    from thresher.shards import Dataset
    from thresher.shards.loader.exact_loader import Loader

    __version__: str

__all__ = [
    "AnalyzedText",
    "Conflict",
    "CorruptData",
    "Dataset",
    "Document",
    "Edit",
    "Finding",
    "Funnel",
    "InputError",
    "Interruption",
    "Loader",
    "Project",
    "Rule",
    "Screen",
    "ThresherError",
    "Unavailable",
    "__version__",
    "to_datasketch",
]

_MODULES = {
    **dict.fromkeys(
        (
            "Conflict",
            "CorruptData",
            "Document",
            "Edit",
            "InputError",
            "Interruption",
            "ThresherError",
            "Unavailable",
        ),
        "thresher.core",
    ),
    **dict.fromkeys(("AnalyzedText", "Finding", "Rule"), "thresher.filters.text"),
    "Dataset": "thresher.shards",
    "Funnel": "thresher.pipeline.funnel",
    "Loader": "thresher.shards.loader.exact_loader",
    "Project": "thresher.project",
    "Screen": "thresher.filters.dedup.screen",
    "to_datasketch": "thresher.pipeline.duplicates.stored_minhashes",
}
"""The module of each name."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - it takes longer than everything else here

        value: Any = version("thresher")
    elif name in _MODULES:
        value = getattr(import_module(_MODULES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
