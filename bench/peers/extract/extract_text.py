"""Extract the main text of pages with another tool, for `bench/extract/main_text.py`.

usage: extract_text.py TOOL PAGES.tar.zst --names FILE

TOOL is one of the keys of `TOOLS`. FILE has the name of one page in each line. The script prints a JSON line for each
page, in the archive's order: name, text, CPU seconds from bytes to text, and the error if there was one. A last line
has the version of the tool. A page that takes longer than 20 seconds has no text. Readers' comments are left out, if
the tool can do that. If a tool returns HTML, resiliparse converts all of it to text.
"""

# ruff: noqa: PLC0415 - each tool is imported in its own environment alone

import argparse
import json
import re
import signal
import tarfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import zstandard

MAX_DURATION_S = 20
DECLARATION = re.compile(r"\A\s*<\?xml[^>]*>")

Extract = Callable[[bytes], str | None]


def trafilatura(**options: bool) -> Extract:
    """Return the extractor of trafilatura, which decodes by itself."""
    import trafilatura as tool

    return lambda page: tool.extract(page, include_comments=False, **options)


def resiliparse() -> Extract:
    """Return resiliparse's extractor of main content."""
    from resiliparse.extract.html2text import extract_plain_text

    return lambda page: extract_plain_text(characters(page), main_content=True, alt_texts=False)


def justext() -> Extract:
    """Return jusText with the stop words of all its languages, because the language of a page is unknown."""
    import justext as tool

    words = frozenset(word for name in tool.get_stoplists() for word in tool.get_stoplist(name))
    return lambda page: "\n".join(each.text for each in tool.justext(page, words) if not each.is_boilerplate)


def readability() -> Extract:
    """Return readability-lxml's summary."""
    from readability import Document

    return lambda page: as_text(Document(characters(page)).summary(html_partial=True))


def magic_html() -> Extract:
    """Return magic-html's general extractor. It cuts off an encoding declaration, which lxml refuses in a `str`."""
    from magic_html import GeneralExtractor

    tool = GeneralExtractor()
    return lambda page: as_text(
        tool.extract(DECLARATION.sub("", characters(page)), base_url="https://example.org/")["html"]
    )


def characters(page: bytes) -> str:
    """Return the page as characters, in the encoding that resiliparse finds."""
    from resiliparse.parse.encoding import bytes_to_str, detect_encoding

    return bytes_to_str(page, detect_encoding(page) or "utf-8")


def as_text(html: str) -> str:
    """Return all text of a piece of HTML, one line for each block."""
    from resiliparse.extract.html2text import extract_plain_text

    return extract_plain_text(html, main_content=False, preserve_formatting=True)


TOOLS: dict[str, tuple[str, Callable[[], Extract]]] = {
    "trafilatura": ("trafilatura", trafilatura),
    "trafilatura-fast": ("trafilatura", lambda: trafilatura(fast=True)),
    "trafilatura-precision": ("trafilatura", lambda: trafilatura(favor_precision=True)),
    "trafilatura-recall": ("trafilatura", lambda: trafilatura(favor_recall=True)),
    "resiliparse": ("resiliparse", resiliparse),
    "justext": ("jusText", justext),
    "readability": ("readability-lxml", readability),
    "magic-html": ("magic-html", magic_html),
}
"""The package, and the function that makes the extractor, by the name of the tool."""


def main() -> None:
    """Extract the pages, and print the lines."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tool", choices=TOOLS)
    parser.add_argument("pages", type=Path)
    parser.add_argument("--names", type=Path, required=True)
    args = parser.parse_args()
    names = set(args.names.read_text().split("\n"))
    package, make = TOOLS[args.tool]
    extract = make()
    signal.signal(signal.SIGALRM, late)
    with (
        args.pages.open("rb") as file,
        zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file) as stream,
        tarfile.open(fileobj=stream, mode="r|") as tar,
    ):
        for member in tar:
            if member.name in names and (content := tar.extractfile(member)) is not None:
                print(json.dumps({"name": member.name, **extracted(extract, content.read())}))
    print(json.dumps({"version": f"{package} {version(package)}"}))


def extracted(extract: Extract, page: bytes) -> dict[str, object]:
    """Return the text and the cost of one page."""
    begun, text, error = time.process_time(), None, ""
    signal.setitimer(signal.ITIMER_REAL, MAX_DURATION_S)
    try:
        text = extract(page)
    except Exception as raised:  # noqa: BLE001 - whatever a peer raises is its result
        error = type(raised).__name__
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return {"text": text or "", "cpu_s": time.process_time() - begun, "error": error}


def late(*_: object) -> None:
    """End a page that takes too long."""
    raise TimeoutError


if __name__ == "__main__":
    main()
