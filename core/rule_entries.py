"""The entries of `filters.rules` in thresher.toml, as text.

An entry is a name, or a table that names a rule and its parameters. It travels as text between processes: a table
becomes its JSON, which `filters.rules.chosen_rules` reads. A parameter `"file:PATH"` becomes the lines of that file.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from thresher.core.errors import InputError
from thresher.core.settings import RuleError

FILE_MARK = "file:"


def entry_texts(entries: Any) -> tuple[str, ...]:
    """Return the entries as text. Raise `RuleError` if one is neither a name nor a table that names a rule."""
    wording = 'must be a list of names and of tables such as {rule = "fineweb", short_line = 20}'
    if not isinstance(entries, tuple | list):
        raise RuleError(wording)
    for entry in entries:
        if not isinstance(entry, str) and not (
            isinstance(entry, Mapping) and isinstance(entry.get("rule"), str)
        ):
            raise RuleError(wording)
    try:
        return tuple(
            entry if isinstance(entry, str) else json.dumps(entry, sort_keys=True) for entry in entries
        )
    except TypeError:
        raise RuleError(f"{wording}; dates are no parameters") from None


def with_files(entries: tuple[str, ...], read: Callable[[str], str]) -> tuple[str, ...]:
    """Return the entries with the lines of the files that they name; `read` returns the text of one.

    Blank lines and lines that begin with `#` are left out. Raise `InputError` if `read` raises `OSError` or
    `UnicodeDecodeError`.
    """
    return tuple(_with_files(entry, read) if FILE_MARK in entry else entry for entry in entries)


def _with_files(entry: str, read: Callable[[str], str]) -> str:
    if not entry.startswith("{"):
        return entry
    table: dict[str, Any] = json.loads(entry)
    for key, value in table.items():
        if isinstance(value, str) and value.startswith(FILE_MARK):
            try:
                lines = read(value.removeprefix(FILE_MARK)).split("\n")
            except (OSError, UnicodeDecodeError) as error:
                problem = "not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
                raise InputError(
                    f"filters.rules: {table['rule']}: {key} = {value!r}: cannot be read ({problem}); name a text"
                    " file with one entry a line"
                ) from None
            table[key] = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return json.dumps(table, sort_keys=True)
