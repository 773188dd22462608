"""`SpiderSpec`: the names of a spider, its arguments and its settings; and how its class and its settings are imported.

A worker receives names and imports them itself, with the project's directory before all others on Python's module path.
Whatever the user's modules raise becomes an `InputError`. A crawl without a spider does not import Scrapy.
"""

import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from thresher.core import InputError

if TYPE_CHECKING:
    from scrapy import Spider


@dataclass(frozen=True, slots=True, kw_only=True)
class SpiderSpec:
    """A spider by its name. Can be pickled."""

    class_path: str
    """`package.module:Class`."""
    arguments: tuple[tuple[str, str], ...] = ()
    """Arguments of the spider's constructor, as from `-a`."""
    settings_path: str = ""
    """`package.module` of the spider's settings; empty if it has only its own `custom_settings`."""
    directory: Path = Path()
    """The directory in which modules are looked for first."""


@contextmanager
def project_on_path(spec: SpiderSpec) -> Iterator[None]:
    """Put the spider's directory first on the module path within this context."""
    place = str(spec.directory.resolve())
    sys.path.insert(0, place)
    try:
        yield
    finally:
        with suppress(ValueError):
            sys.path.remove(place)


def source_digest(spec: SpiderSpec) -> str:
    """Return a digest of the Python files of the spider's top-level module; of no files if the module is not in the
    spider's directory.
    """
    top = spec.directory / spec.class_path.partition(":")[0].partition(".")[0]
    digest = hashlib.sha256()
    for path in sorted({top.with_suffix(".py"), *top.rglob("*.py")}):
        if path.is_file():
            digest.update(f"{path.relative_to(spec.directory)}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def spider_class(spec: SpiderSpec) -> "type[Spider]":
    """Return the spider's class. Raise `InputError` if it does not exist, or is no spider."""
    from scrapy import Spider  # noqa: PLC0415 - only spiders need it

    module, _, name = spec.class_path.partition(":")
    if not module or not name.isidentifier():
        raise InputError(f"--spider {spec.class_path}: name it package.module:Class")
    found = getattr(_module(f"--spider {spec.class_path}", module), name, None)
    if not isinstance(found, type) or not issubclass(found, Spider):
        what = "has no such class" if found is None else f"has {name}, which is no subclass of scrapy.Spider"
        raise InputError(f"--spider {spec.class_path}: {module} {what}")
    return found


def settings_module(spec: SpiderSpec) -> ModuleType | None:
    """Return the module of the spider's settings; None if it names none."""
    return _module(f"--settings {spec.settings_path}", spec.settings_path) if spec.settings_path else None


def _module(option: str, name: str) -> ModuleType:
    try:
        return import_module(name)
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and name.startswith(error.name or "\0")
        reason = (
            "no such module in the project's directory or among the installed ones"
            if missing
            else f"importing {name} raised {type(error).__name__}: {' '.join(str(error).split())}"
        )
        raise InputError(f"{option}: {reason}") from error
