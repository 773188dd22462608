"""Make one WARC file of real pages for `bench/pipeline/process.py`, from folders of HTML files and archives of pages.

usage: python bench/pipeline/make_warc.py OUT.warc.gz --records N [--tree DIR ...] [--tar PAGES.tar.zst ...]

The pages have 200 bytes to 1 MB. Their order depends on their names alone, so the first N pages are the same on every
machine. Each page is a `response` record of warcio with status 200. Like those of Common Crawl it has the header
WARC-Identified-Payload-Type; without it datatrove guesses the type of a page. The script prints one JSON line.
"""

import argparse
import io
import json
import sys
import tarfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

import zstandard
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

SHORTEST, LONGEST = 200, 1_000_000
ENDINGS = (".html", ".htm", ".xhtml")


def main() -> None:
    """Write the file, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--tree", type=Path, action="append", default=[])
    parser.add_argument("--tar", type=Path, action="append", default=[])
    args = parser.parse_args()
    found: list[tuple[str, Path | bytes]] = [
        *(page for tree in args.tree for page in of_tree(tree)),
        *(page for tar in args.tar for page in of_tar(tar)),
    ]
    found.sort(key=lambda page: sha256(page[0].encode()).digest())
    chosen = found[: args.records]
    if len(chosen) < args.records:
        sys.exit(f"there are {len(chosen)} pages, not {args.records}")
    with args.out.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for url, source in chosen:
            body = source.read_bytes() if isinstance(source, Path) else source
            head = StatusAndHeaders(
                "200 OK",
                [("Content-Type", "text/html"), ("Content-Length", str(len(body)))],
                protocol="HTTP/1.1",
            )
            record = writer.create_warc_record(
                url,
                "response",
                payload=io.BytesIO(body),
                http_headers=head,
                warc_headers_dict={"WARC-Identified-Payload-Type": "text/html"},
            )
            writer.write_record(record)
    print(json.dumps({"records": len(chosen), "of": len(found), "bytes": args.out.stat().st_size}))


def of_tree(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the URLs and files of a folder."""
    for path in root.rglob("*"):
        is_page = path.name.lower().endswith(ENDINGS) and path.is_file() and not path.is_symlink()
        if is_page and SHORTEST <= path.stat().st_size <= LONGEST:
            yield f"http://{root.name.lower()}.test/{quote(str(path.relative_to(root)))}", path


def of_tar(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the URLs and bytes of an archive."""
    with (
        archive.open("rb") as file,
        zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file) as stream,
        tarfile.open(fileobj=stream, mode="r|") as tar,
    ):
        for member in tar:
            content = tar.extractfile(member)
            if content is not None and SHORTEST <= member.size <= LONGEST:
                yield f"http://{archive.name.partition('.')[0]}.test/{quote(member.name)}", content.read()


if __name__ == "__main__":
    main()
