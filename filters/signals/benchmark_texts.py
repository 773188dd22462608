"""Read the texts of benchmarks from the bytes of a file."""

import io
import json
from collections.abc import Iterator
from typing import Any

FORMATS = (".jsonl", ".json", ".txt")


def texts_of(name: str, data: bytes) -> Iterator[str]:
    """Yield the texts of a file. Of JSON every string is one, wherever it stands; of `.txt` every line that is not
    blank.

    Raise `ValueError` if the suffix is none of `FORMATS`, or if the content does not fit it.
    """
    if not name.endswith(FORMATS):
        raise ValueError(f"its name must end in {', '.join(FORMATS)}, also with .gz, .bz2 or .zst")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    if name.endswith(".jsonl"):
        for number, line in enumerate(io.StringIO(text), 1):
            if line.strip():
                yield from _strings(_parsed(line, f"line {number}"))
    elif name.endswith(".json"):
        yield from _strings(_parsed(text, "the file"))
    else:
        yield from (line for line in io.StringIO(text) if line.strip())


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{where} is not JSON ({error})") from None
    except RecursionError:
        raise ValueError(f"{where} is not JSON that can be read: it is nested too deeply") from None


def _strings(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        each = stack.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            stack.extend(reversed(list(each.values())))
        elif isinstance(each, list):
            stack.extend(reversed(each))
