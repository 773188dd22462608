"""Which different URLs the frontier takes for one page, in real material.

usage: python bench/frontier/folding.py PATH... [--show]

A PATH is a tar.zst of HTML pages (a gold.jsonl.zst beside it has their URLs; without one each page is a host of its
own), a directory of HTML files (a site of its own, as `bench/crawler/sites.py` unpacks them), or any file with URLs in
it, plain or .zst. From pages it takes the links, as a crawl finds them.

URLs are told apart by the form that is requested. Prints a JSON line for each PATH and for all of them: the number of
forms, of canonical texts and of pages; the number of sets of texts that fold by the order of their parameters; and the
number of sets of forms that fold here and that Scrapy's fingerprint would keep apart (sessions, tracking, empty
parameters, a final dot). With --show the sets follow, one URL per line, for inspection.
"""

import argparse
import io
import json
import re
import sys
import tarfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import zstandard
from w3lib.url import canonicalize_url

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from thresher.core import Url  # noqa: E402 - a script finds the packages only now
from thresher.extract.charset import to_utf8  # noqa: E402
from thresher.extract.markup.links import extract_links  # noqa: E402
from thresher.frontier import InvalidUrl, canonicalize  # noqa: E402
from thresher.frontier.page_key import page_key  # noqa: E402

HTML = (".html", ".htm", ".xhtml")
_URL = re.compile(rb"https?://[^\s\"'<>\\]+")


def main() -> None:
    """Measure, and print the lines."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    everything: dict[str, Url] = {}
    for path in args.paths:
        found = {url.wire: url for url in urls(path)}
        report(path.name, found, show=args.show)
        everything |= found
    if len(args.paths) > 1:
        report("all", everything, show=False)


def report(name: str, found: dict[str, Url], *, show: bool) -> None:
    """Print one line, and the sets that fold."""
    pages: defaultdict[str, list[Url]] = defaultdict(list)
    for url in found.values():
        pages[page_key(url.text)].append(url)
    by_order = [urls for urls in pages.values() if len({url.text for url in urls}) > 1]
    apart = [urls for urls in pages.values() if len({canonicalize_url(url.wire) for url in urls}) > 1]
    line = {
        "bench": "folding",
        "of": name,
        "forms": len(found),
        "texts": len({url.text for url in found.values()}),
        "pages": len(pages),
        "several_parameters": sum("&" in url.text for url in found.values()),
        "sets_by_order": len(by_order),
        "sets_that_scrapy_keeps_apart": len(apart),
    }
    print(json.dumps(line), flush=True)
    if show:
        for title, sets in (("by order", by_order), ("Scrapy keeps apart", apart)):
            for urls in sets:
                print(f"-- {title}", *sorted(url.wire for url in urls), sep="\n")


def urls(path: Path) -> Iterator[Url]:
    """Yield every URL of a PATH."""
    if path.is_dir():
        pages = (file for file in sorted(path.rglob("*")) if file.suffix.lower() in HTML and file.is_file())
        for file in pages:
            yield from of_page(file.read_bytes(), f"http://site.test/{file.relative_to(path)}")
    elif path.name.endswith(".tar.zst"):
        yield from of_pages(path)
    else:
        data = path.read_bytes()
        yield from parse_urls(match.decode(errors="replace") for match in _URL.findall(unpack(data, path)))


def of_pages(path: Path) -> Iterator[Url]:
    """Yield the links of packed pages."""
    gold = path.with_name("gold.jsonl.zst")
    where = {}
    if gold.exists():
        rows = (json.loads(row) for row in unpack(gold.read_bytes(), gold).split(b"\n") if row)
        where = {row["html"]: row["url"] for row in rows}
    with tarfile.open(fileobj=io.BytesIO(unpack(path.read_bytes(), path))) as tar:
        for number, member in enumerate(tar):
            file = tar.extractfile(member) if member.isfile() else None
            if file is not None:
                base = where.get(member.name) or where.get(f"pages/{member.name}") or ""
                yield from of_page(
                    file.read(), base if base.startswith("http") else f"http://page{number}.test/"
                )


def of_page(body: bytes, base: str) -> Iterator[Url]:
    """Yield the links of one page."""
    html, codec = to_utf8(body, None)
    page = extract_links(html, base, codec)
    return parse_urls(page.hrefs, page.base)


def parse_urls(written: Iterable[str], base: str | None = None) -> Iterator[Url]:
    """Yield those texts that are URLs."""
    for text in written:
        try:
            yield canonicalize(text, base)
        except InvalidUrl:
            continue


def unpack(data: bytes, path: Path) -> bytes:
    """Return the uncompressed content of a file."""
    if path.suffix != ".zst":
        return data
    return zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(data).read()


if __name__ == "__main__":
    main()
