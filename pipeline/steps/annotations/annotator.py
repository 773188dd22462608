"""`Annotator`: a user's function over batches of documents, checked on the way in and on the way out.

A function takes a list of `Document` and returns one value for each: a list, or a mapping of column names to lists. A
class is made once in each worker, with the arguments of the command, and its instance is called in the same way.
Attributes of either say more: `VERSION` names the version of its results, `COLUMNS` the Arrow types of its columns.

The function must give a document the same values whatever other documents are in its batch, because values of unchanged
texts are kept.
"""

import hashlib
import inspect
import numbers
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, cast

import pyarrow as pa

from thresher.core import Document, InputError, ThresherError

ID, TEXT_DIGEST = "id", "text_digest"
"""Columns that each table of annotations has itself."""
COLUMN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
MAX_DETAIL = 300
"""Characters of a user's exception that a message shows."""


class AnnotatorSpec(NamedTuple):
    """What identifies an annotator on any machine. It travels to workers."""

    path: str
    """`package.module:NAME`."""
    arguments: tuple[tuple[str, str], ...]
    version: str
    """`VERSION` of the function or class, or the digest of its module's file."""
    columns: tuple[tuple[str, str], ...]
    """Names and types of `COLUMNS`; empty if types follow from the values."""
    directory: str
    """The project's directory, where modules are searched after all other places."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotator:
    """A user's function, ready to be called."""

    path: str
    call: Callable[[Sequence[Document]], Any]
    types: Mapping[str, pa.DataType] | None
    """The declared columns, or None if types follow from the values."""
    name: str
    """Name of the column if the function returns a list, and `types` has not exactly one column."""

    def values(self, documents: Sequence[Document]) -> dict[str, list[Any]]:
        """Return a list of values for each column. Raise `InputError` if the function returns anything else, and
        `ThresherError`, which names the document, if it raises an error.
        """
        try:
            returned = self._called(documents)
        except _OwnError as error:
            raise self._located(documents, error) from None
        return self._checked(returned, len(documents))

    def _called(self, documents: Sequence[Document]) -> Any:
        try:
            return self.call(documents)
        except MemoryError:
            raise _OwnError("MemoryError: it needs more memory than there is") from None
        except SystemExit as error:
            raise _OwnError(f"it calls sys.exit({error.code!r})") from None
        except Exception as error:
            raise _OwnError(described(error)) from error

    def _located(self, documents: Sequence[Document], error: "_OwnError") -> ThresherError:
        """Return the error with the document that causes it. Each document of the batch is tried alone to find it."""
        for document in documents if len(documents) > 1 else ():
            try:
                self._called([document])
            except _OwnError as own:
                return ThresherError(f"{self.path} fails at document {document.id} ({document.url}): {own}")
        first, last = documents[0], documents[-1]
        which = f"document {first.id} ({first.url})"
        if len(documents) > 1:
            which = (
                f"a batch of {len(documents)} documents, {first.id} to {last.id}, and at none of them alone"
            )
        return ThresherError(f"{self.path} fails at {which}: {error}")

    def _checked(self, returned: Any, count: int) -> dict[str, list[Any]]:
        only = self.name if self.types is None or len(self.types) != 1 else next(iter(self.types))
        columns = returned if isinstance(returned, Mapping) else {only: returned}
        if self.types is not None:
            self.require_columns(columns, self.types)
        found = {}
        for name, values in columns.items():
            if not isinstance(name, str) or not COLUMN.fullmatch(name) or name in {ID, TEXT_DIGEST}:
                raise InputError(
                    f"{self.path} returned a column {name!r}; a column has at most 64 letters, digits and '_', no "
                    f"digit first, and another name than {ID} and {TEXT_DIGEST}"
                )
            found[name] = self._listed(name, values, count)
        return found

    def require_columns(self, found: Iterable[object], wanted: Iterable[str]) -> None:
        """Raise `InputError` if a batch has other columns than those before it, or than `COLUMNS`."""
        has, needs = sorted(map(str, found)), sorted(wanted)
        if has != needs:
            raise InputError(
                f"{self.path} returned the columns {', '.join(has)} and not {', '.join(needs)}; return the same "
                "columns for each batch, those of COLUMNS if it has them"
            )

    def _listed(self, name: str, values: Any, count: int) -> list[Any]:
        if hasattr(values, "tolist"):
            values = values.tolist()
        if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
            raise InputError(
                f"{self.path} returned {type(values).__name__} for {name}; it must return a list with one value for "
                "each document of the batch, or a mapping of column names to such lists"
            )
        listed = list(values)
        if len(listed) != count:
            raise InputError(
                f"{self.path} returned {len(listed)} values for {name}, and its batch has {count} documents; return "
                "one value for each document, None where there is none"
            )
        return listed

    def arrays(self, values: Mapping[str, list[Any]]) -> dict[str, "pa.Array[Any]"]:
        """Return the values of all documents of a part as Arrow arrays. Raise `InputError` if a value does not fit."""
        if self.types is not None:
            return {name: self._declared(name, values[name]) for name in self.types}
        return {name: self._inferred(name, values[name]) for name in sorted(values)}

    def _declared(self, name: str, values: list[Any]) -> "pa.Array[Any]":
        assert self.types is not None
        try:
            return pa.array(values, self.types[name])
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"{self.path} returned a value of {name} that is no {self.types[name]}: {described(error)}"
            ) from None

    def _inferred(self, name: str, values: list[Any]) -> "pa.Array[Any]":
        """Return numbers as float64, so that the type does not depend on which documents are in the part."""
        plain = [each.item() if hasattr(each, "item") else each for each in values]
        kinds = {_kind(each) for each in plain if each is not None}
        if not kinds:
            return pa.nulls(len(plain))
        if len(kinds) > 1 or "" in kinds:
            shown = next(each for each in plain if each is not None and (len(kinds) > 1 or not _kind(each)))
            raise InputError(
                f"{self.path} returned {type(shown).__name__} for {name}; without COLUMNS, the values of a column "
                "are all "
                'numbers, all texts or all bool; declare others, such as COLUMNS = {"' + name + '": "int64"}'
            )
        try:
            match kinds.pop():
                case "number":
                    return pa.array([None if each is None else float(each) for each in plain], pa.float64())
                case "text":
                    return pa.array(plain, pa.string())
                case _:
                    return pa.array(plain, pa.bool_())
        except (pa.ArrowException, ValueError, OverflowError) as error:
            raise InputError(
                f"{self.path} returned a value of {name} that cannot be stored: {described(error)}"
            ) from None


class _OwnError(Exception):
    """What the user's code raised, in one line."""


def described(error: BaseException) -> str:
    """Return an exception in one line: its class and its message."""
    detail = " ".join(str(error).split())
    shown = detail if len(detail) <= MAX_DETAIL else f"{detail[:MAX_DETAIL]}..."
    return f"{type(error).__name__}: {shown}" if shown else type(error).__name__


def find_annotator(path: str, arguments: Sequence[tuple[str, str]], directory: Path) -> AnnotatorSpec:
    """Return the identity of the function or class `package.module:NAME`, without making an instance.

    Raise `InputError` if the module cannot be imported, NAME is not callable, or the arguments do not fit.
    """
    found, version = _imported(path, str(directory))
    if isinstance(found, type):
        _bind(path, found, (), dict(arguments))
    elif inspect.isfunction(found):
        _bind(path, found, ([],), dict(arguments))
    elif arguments:
        raise InputError(f"--with {path}: it is made already and takes no arguments; give them to a class")
    types = declared_types(path, found) or {}
    return AnnotatorSpec(
        path=path,
        arguments=tuple(arguments),
        version=version,
        columns=tuple((name, str(kind)) for name, kind in types.items()),
        directory=str(directory),
    )


@lru_cache(maxsize=1)
def loaded_annotator(spec: AnnotatorSpec, name: str) -> Annotator:
    """Return the annotator, made once in a process. Raise `InputError` if it cannot be made here, or if its version on
    this machine is another one.
    """
    found, version = _imported(spec.path, spec.directory)
    if version != spec.version:
        raise InputError(
            f"--with {spec.path}: its version is {version} here and {spec.version} where the command runs; install the "
            "same module on all machines"
        )
    arguments = dict(spec.arguments)
    call = found
    try:
        if isinstance(found, type):
            call = found(**arguments)
        elif arguments:
            call = _with_arguments(found, arguments)
    except Exception as error:
        raise InputError(f"--with {spec.path}: it cannot be made ({described(error)})") from error
    if not callable(call):
        raise InputError(f"--with {spec.path}: an instance of it cannot be called; give the class a __call__")
    return Annotator(path=spec.path, call=call, types=declared_types(spec.path, found), name=name)


def declared_types(path: str, found: Any) -> dict[str, pa.DataType] | None:
    """Return the types of `COLUMNS`, or None if there are none. Raise `InputError` if one is not known."""
    declared = getattr(found, "COLUMNS", None)
    if declared is None:
        return None
    if not isinstance(declared, Mapping) or not declared:
        raise InputError(f'--with {path}: COLUMNS must be a mapping such as {{"score": "float32"}}')
    types = {}
    for name, kind in declared.items():
        try:
            types[str(name)] = kind if isinstance(kind, pa.DataType) else _arrow_type(str(kind))
        except ValueError:
            raise InputError(
                f"--with {path}: COLUMNS: {kind!r} is no type of Arrow; give a name such as float32, int64, string or "
                "bool, or a pyarrow.DataType"
            ) from None
    return types


def _arrow_type(name: str) -> pa.DataType:
    found: pa.DataType = cast("Any", pa).type_for_alias(name)  # its type has an overload for each name
    return found


def _with_arguments(function: Callable[..., Any], arguments: Mapping[str, str]) -> Callable[..., Any]:
    return lambda documents: function(documents, **arguments)


def _imported(path: str, directory: str) -> tuple[Any, str]:
    """Return the function or class, and its version."""
    module_name, _, name = path.partition(":")
    if not module_name or not name.isidentifier():
        raise InputError(f"--with {path}: name it package.module:NAME")
    if directory not in sys.path and Path(directory).is_dir():
        sys.path.append(directory)
    try:
        module = import_module(module_name)
        found = getattr(module, name)
    except Exception as error:
        raise InputError(
            f"--with {path}: it cannot be loaded ({described(error)}); modules are searched in the project's directory "
            "and on Python's path"
        ) from error
    if not callable(found):
        raise InputError(f"--with {path}: it is {type(found).__name__}, and neither a function nor a class")
    version = getattr(found, "VERSION", None)
    if version is None:
        return found, _file_digest(getattr(module, "__file__", None))
    if not isinstance(version, str | numbers.Number):
        raise InputError(f"--with {path}: VERSION must be a number or a text")
    return found, str(version)


def _file_digest(file: str | None) -> str:
    try:
        return "" if file is None else hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]
    except OSError:
        return ""


def _bind(
    path: str, found: Callable[..., Any], positional: tuple[Any, ...], named: Mapping[str, str]
) -> None:
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):  # a class of a compiled module has none
        return
    try:
        signature.bind(*positional, **named)
    except TypeError as error:
        raise InputError(
            f"--with {path}: its arguments do not fit: {error}; give them with -a NAME=VALUE"
        ) from None


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, numbers.Real):
        return "number"
    return "text" if isinstance(value, str) else ""
