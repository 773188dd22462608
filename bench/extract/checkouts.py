"""Make gold pages of the test pages of other projects, for `bench/extract/main_text.py`.

usage: python bench/extract/checkouts.py SET CHECKOUT --out OUT

SET says which project CHECKOUT is a working tree of:

- `wcxb`, `wcxb-test`: Murrough-Foley/web-content-extraction-benchmark, its pages for development and those it holds
  back. A source is one of its seven kinds of pages, such as `wcxb-forum`.
- `fundus`: flairNLP/fundus, news in 25 languages; a source is a country. The gold text is what the project's selectors
  for each publisher find, tested by people.
- `defuddle`: kepano/defuddle, a page for each construct of today's web; the gold text is that of the tested Markdown.

OUT gets `gold.jsonl.zst` and `pages.tar.zst`. The command prints one JSON line: the number of pages by source.
"""

import argparse
import gzip
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from selectolax.lexbor import LexborHTMLParser

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.extract import gold, scoring
from bench.extract.gold import GoldPage


def main() -> None:
    """Write the two files, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", choices=("wcxb", "wcxb-test", "fundus", "defuddle"))
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    match args.set:
        case "fundus":
            found = fundus(args.checkout)
        case "defuddle":
            found = defuddle(args.checkout)
        case name:
            found = wcxb(args.checkout / ("test" if name == "wcxb-test" else "dev"))
    counts = gold.write(args.out, (page for page in found if scoring.bag(page.row["gold_text"])))
    print(json.dumps({"bench": "checkouts", "set": args.set, "pages": counts.total(), "sources": counts}))


def _row(source: str, url: str, body: bytes, text: str, meta: dict[str, Any], **more: Any) -> GoldPage:
    digest = hashlib.sha256(body).hexdigest()
    name = f"{source}/{digest[:24]}"
    row = {"id": name, "source": source, "url": url, "kind": "full_text", "html": name, "gold_text": text}
    return GoldPage({**row, "meta": {key: value for key, value in meta.items() if value}, **more}, body)


def wcxb(folder: Path) -> Iterator[GoldPage]:
    """Yield the pages of `dev` or of `test`."""
    for path in sorted((folder / "ground-truth").glob("*.json")):
        stated = json.loads(path.read_bytes())
        known, kind = stated["ground_truth"], stated["_internal"]["page_type"]["primary"]
        body = gzip.decompress((folder / "html" / f"{path.stem}.html.gz").read_bytes())
        meta = {"title": known["title"], "author": known["author"], "date": known["publish_date"]}
        yield _row(
            f"wcxb-{kind}", stated.get("url", ""), body, known.get("main_content") or "", meta, file=path.stem
        )


def fundus(checkout: Path) -> Iterator[GoldPage]:
    """Yield the pages of publishers with as many pages as versions of the gold text. The n-th page by its date belongs
    to the n-th version: the project adds a page when it adds a version.
    """
    folder = checkout / "tests/resources/parser/test_data"
    for path in sorted(folder.glob("*/*.json")):
        versions = json.loads(path.read_bytes())
        pages = sorted(path.parent.glob(f"{path.stem}_[12][0-9][0-9][0-9]_*.html.gz"))
        if len(pages) != len(versions):
            continue
        for page, (_, known) in zip(
            pages,
            sorted(versions.items(), key=_version),
            strict=True,
        ):
            body = known.get("body")
            if not body:
                continue
            lines = [*body["summary"]]
            for section in body["sections"]:
                lines += [*section["headline"], *section["paragraphs"]]
            meta = {
                "title": known.get("title"),
                "author": known.get("authors"),
                "date": (known.get("publishing_date") or "")[:10],
            }
            url = f"https://{path.stem.lower()}.example/"
            yield _row(
                f"fundus-{path.parent.name}", url, gzip.decompress(page.read_bytes()), "\n".join(lines), meta
            )


def _version(gold_of: tuple[str, Any]) -> list[int]:
    """Return the numbers in the name of a version, such as 1 and 2 in V1_2."""
    return [int(number) for number in gold_of[0].removeprefix("V").split("_")]


def defuddle(checkout: Path) -> Iterator[GoldPage]:
    """Yield the pages with a tested output."""
    markdown = MarkdownIt().enable("table")
    for path in sorted((checkout / "tests/fixtures").glob("*.html")):
        tested = checkout / "tests/expected" / f"{path.stem}.md"
        if not tested.exists():
            continue
        head, _, text = tested.read_text().partition("\n```\n")
        stated = json.loads(head.removeprefix("```json"))
        text = LexborHTMLParser(markdown.render(text)).text(separator="\n")
        meta = {
            "title": stated["title"],
            "author": stated["author"],
            "date": (stated["published"] or "")[:10],
        }
        url = f"https://{re.sub('[^a-z0-9]+', '-', path.stem.lower())}.example/"
        yield _row("defuddle", url, path.read_bytes(), text, meta, file=path.stem)


if __name__ == "__main__":
    main()
