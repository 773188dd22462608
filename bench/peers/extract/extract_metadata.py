"""Read the facts of pages with trafilatura, and their dates with htmldate, for `bench/extract/main_text.py`.

usage: extract_metadata.py PAGES.tar.zst --names FILE

FILE has the name and the URL of one page in each line, separated by a tab; the URL may be empty. The script prints a
JSON line for each page, in the archive's order: name, and the title, the author and the date that trafilatura gives.
trafilatura takes its dates from htmldate. A last line has the versions.
"""

import argparse
import json
import tarfile
from importlib.metadata import version
from pathlib import Path

import zstandard
from trafilatura import extract_metadata


def main() -> None:
    """Read the facts, and print the lines."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", type=Path)
    parser.add_argument("--names", type=Path, required=True)
    args = parser.parse_args()
    urls = dict(line.split("\t") for line in args.names.read_text().split("\n") if line)
    with (
        args.pages.open("rb") as file,
        zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file) as stream,
        tarfile.open(fileobj=stream, mode="r|") as tar,
    ):
        for member in tar:
            if member.name in urls and (content := tar.extractfile(member)) is not None:
                print(json.dumps({"name": member.name, **facts(content.read(), urls[member.name])}))
    print(json.dumps({"version": f"trafilatura {version('trafilatura')}, htmldate {version('htmldate')}"}))


def facts(page: bytes, url: str) -> dict[str, str]:
    """Return the facts of a page; a fact that is missing is empty."""
    try:
        found = extract_metadata(page, default_url=url or None)
    except Exception:  # noqa: BLE001 - whatever a peer raises is its result
        found = None
    return {
        "title": (found.title or "") if found else "",
        "author": (found.author or "") if found else "",
        "date": (found.date or "") if found else "",
    }


if __name__ == "__main__":
    main()
