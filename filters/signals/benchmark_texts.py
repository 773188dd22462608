"""Read the texts of benchmarks from the bytes of a file."""

import gzip
import io
import json
from collections.abc import Iterator
from typing import Any

import zstandard

FORMATS = (".jsonl", ".json", ".txt")
COMPRESSIONS = (".gz", ".zst")


def texts_of(name: str, data: bytes) -> Iterator[str]:
    """Yield the texts of a file. Of JSON every string is one, wherever it stands; of `.txt` every line that is not
    blank.

    Raise `ValueError` if the suffix is none of `FORMATS`, also with one of `COMPRESSIONS`, or if the content does not
    fit it.
    """
    if name.endswith(".gz"):
        name, data = name.removesuffix(".gz"), _unzipped(data)
    elif name.endswith(".zst"):
        name, data = name.removesuffix(".zst"), _unpacked(data)
    text = data.decode()
    if name.endswith(".jsonl"):
        for number, line in enumerate(io.StringIO(text), 1):
            if line.strip():
                yield from _strings(_parsed(line, f"line {number}"))
    elif name.endswith(".json"):
        yield from _strings(_parsed(text, "the file"))
    elif name.endswith(".txt"):
        yield from (line for line in io.StringIO(text) if line.strip())
    else:
        raise ValueError(f"its name must end in {', '.join(FORMATS)}, also with {' or '.join(COMPRESSIONS)}")


def _unzipped(data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError) as error:
        raise ValueError(f"it is not gzip ({error})") from None


def _unpacked(data: bytes) -> bytes:
    try:
        return zstandard.ZstdDecompressor().stream_reader(data).read()
    except zstandard.ZstdError as error:
        raise ValueError(f"it is not Zstandard ({error})") from None


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{where} is not JSON ({error})") from None


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
