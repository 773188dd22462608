"""Declare the keys of `thresher.toml`: the comment of a key, and the rules that its value must keep beyond its type.

1. The package that uses a setting declares it, once: a field of a frozen dataclass with a default. The name of the
   field is the name of the key. A field without `Key` is no key: the code sets it.
2. `pipeline.configuration` validates a value against the annotation with Pydantic, which finds each rule by
   `__get_pydantic_core_schema__`. Nothing here imports Pydantic: a worker process never does, because that takes 0.1
   to 0.2 s.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


class RuleError(ValueError):
    """A value breaks a rule. The text continues the name of the key: `must not be negative`."""


@dataclass(frozen=True, slots=True)
class Key:
    """The field is a key of `thresher.toml`."""

    comment: str
    """What the key does, for the template and the reference."""
    is_required: bool = False
    """Whether the template shows the key as one to be filled in."""
    is_size: bool = False
    """Whether the file holds a size such as `10MiB`, and the field its bytes."""
    example: str = ""
    """A table's head in the template, for a key that holds tables."""


@dataclass(frozen=True, slots=True)
class Check:
    """A rule beyond the type: `apply` returns the value, or raises `RuleError`, `ValueError` or `InputError`."""

    apply: Callable[[Any], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Required by Pydantic: return the schema that applies the rule after the type."""
        return _after(self.apply, handler(source))


@dataclass(frozen=True, slots=True)
class Conversion:
    """The field holds what `apply` returns for the value in the file, or it raises `RuleError`."""

    apply: Callable[[Any], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Required by Pydantic: return the schema of any value that `apply` takes."""
        return _after(self.apply, {"type": "any"})


@dataclass(frozen=True, slots=True)
class SizeText:
    """The file holds a text that `parse_size` reads."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Required by Pydantic: return the schema of a text whose value is the number of its bytes."""
        return _after(parse_size, {"type": "str"})


def _after(function: Callable[[Any], Any], schema: Any) -> dict[str, Any]:
    """Return the dict that `pydantic_core.core_schema.no_info_after_validator_function` makes. Core imports nothing."""
    return {"type": "function-after", "function": {"type": "no-info", "function": function}, "schema": schema}


Size = Annotated[int, SizeText()]
"""Bytes, written as a size such as `10MiB`."""


def rule(holds: Callable[[Any], object], wording: str, *, shows_value: bool = True) -> Check:
    """Return a check that raises `RuleError` unless `holds(value)`: `wording`, and the value if it may be shown."""

    def apply(value: Any) -> Any:
        if holds(value):
            return value
        shown = list(value) if isinstance(value, tuple) else value
        raise RuleError(f"{wording}, not {shown!r}" if shows_value else wording)

    return Check(apply)


def optional_rule(holds: Callable[[Any], object], wording: str) -> Check:
    """Return the check of `rule` for a setting that may be None, which always passes."""
    return rule(lambda value: value is None or holds(value), wording)


def parse_size(text: str) -> int:
    """Return the bytes of a size such as `10MiB` or `500 kB`. Raise `ValueError` for anything else."""
    match = re.fullmatch(r"\s*+([0-9]{1,15}+(?:\.[0-9]{1,15}+)?)\s*+([A-Za-z]*+)\s*+", text)
    if not match or match[2].upper() not in UNITS:
        raise ValueError(f"{text!r} is not a size such as 10MiB")
    return int(float(match[1]) * UNITS[match[2].upper()])


def format_size(size: int) -> str:
    """Return the shortest text in binary units that `parse_size` reads as these bytes."""
    for unit in ("GiB", "MiB", "KiB"):
        if size and size % UNITS[unit.upper()] == 0:
            return f"{size // UNITS[unit.upper()]}{unit}"
    return str(size)
