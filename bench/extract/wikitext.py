"""Measure the cost of a page of a Wikipedia dump, from the file to its text, beside mwparserfromhell.

usage: python bench/extract/wikitext.py [--pages N] [--dump FILE] [--peer-pages N]

The dump is generated in bzip2, with pages of about 6 KB that have links, references, templates, lists, tables and
formulas in the shares of real articles; or it is a real dump (`pages-articles.xml`, compressed or not). The bench uses
one process and one core, and measures CPU seconds. `read` is the reader alone, `text` is `extract.wikitext` on its
pages, `peer` is mwparserfromhell's `strip_code` on the first pages, without style tags, which is its fastest mode. The
command prints one JSON line.
"""

import argparse
import bz2
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import mwparserfromhell

from tests.storage.dumps import head, page, revision
from thresher.extract import Skip
from thresher.extract.wikitext import extract
from thresher.storage.inputs.entry import InputRecord
from thresher.storage.inputs.input_kinds import detect_kind, input_kinds, read_items

TEXT = (
    "the of a and in to lamp tower keeper harbour sea storm boat was were by from stone light hour book night town "
    "island old new first north signal oil glass stair wrote burned stood built after before under over"
)
WORDS = TEXT.split()
MARKUP_TEMPLATES = (
    "[[{0} {1}]]",
    "[[{0} ({1})|{2}]]s",
    "'''{0}'''",
    "''{0} {1}''",
    '<ref name="{0}">{{{{cite book|title={0} {1}|author={2}|year=1901|url=https://example.org/{0}}}}}</ref>',
    "{{{{convert|{3}|km|mi}}}}",
    "{{{{lang|fr|{0}}}}}",
    "{{{{citation needed|date=May 2020}}}}",
    "<math>{0}_{{{3}}} = \\frac{{a}}{{b}}</math>",
    "[https://example.org/{0} {1} {2}]",
    "{0}&nbsp;{1}",
    "<!-- {0} -->",
)


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=3000)
    parser.add_argument("--dump", type=Path)
    parser.add_argument("--peer-pages", type=int, default=200)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        dump = args.dump or write_dump(Path(directory) / "dump.xml.bz2", args.pages)
        count = size = texts = characters = 0
        reading = extracting = 0.0
        kept: list[bytes] = []
        began = time.process_time()
        for entry in entries(dump):
            reading += (now := time.process_time()) - began
            found = extract(entry.payload)
            began = time.process_time()
            extracting += began - now
            count, size = count + 1, size + len(entry.payload)
            texts += not isinstance(found, Skip)
            characters += 0 if isinstance(found, Skip) else len(found.text)
            if len(kept) < args.peer_pages:
                kept.append(entry.payload)
        rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    ours, theirs = seconds(extract, kept), seconds(peer_text, kept)
    print(
        json.dumps(
            {
                "bench": "wikitext",
                "pages": count,
                "texts": texts,
                "wikitext_mb": round(size / 1e6, 1),
                "text_mb": round(characters / 1e6, 1),
                "read_mb_per_s": round(size / 1e6 / reading, 1),
                "text_docs_per_s": round(count / extracting),
                "text_mb_per_s": round(size / 1e6 / extracting, 2),
                "both_docs_per_s": round(count / (reading + extracting)),
                "peak_rss_mb": rss,
                "peer": f"mwparserfromhell {version('mwparserfromhell')}",
                "peer_mb_per_s": round(sum(map(len, kept)) / 1e6 / theirs, 2),
                "times_peer": round(theirs / ours, 1),
            }
        )
    )


def entries(dump: Path) -> Iterator[InputRecord]:
    """Yield the articles of a dump, as `ingest` reads them."""
    with dump.open("rb") as file:
        kind = detect_kind(file, dump.name, input_kinds())
        yield from (item for item in read_items(file, dump.name, kind) if isinstance(item, InputRecord))


def seconds(work, payloads) -> float:
    """Return the CPU seconds of `work` on all payloads, the better of two rounds."""
    best = float("inf")
    for _ in range(2):
        began = time.process_time()
        for payload in payloads:
            work(payload)
        best = min(best, time.process_time() - began)
    return best


def peer_text(payload: bytes) -> str:
    """Return the text that mwparserfromhell extracts."""
    return mwparserfromhell.parse(payload.decode(), skip_style_tags=True).strip_code()


def write_dump(path: Path, pages: int) -> Path:
    """Write a dump of `pages` pages."""
    draw = random.Random(1)
    with bz2.open(path, "wt", encoding="utf-8") as file:
        file.write(head())
        for number in range(pages):
            file.write(page(f"Page {number}", revision(article(draw)), id_=number))
        file.write("</mediawiki>\n")
    return path


def article(draw: random.Random) -> str:
    """Return the wikitext of one page."""
    fields = "\n".join(f"| {draw.choice(WORDS)}{n} = {phrase(draw, 4)}" for n in range(12))
    parts = [f"{{{{Infobox tower\n{fields}\n}}}}", paragraph(draw)]
    for _ in range(draw.randint(1, 6)):
        parts += [f"== {phrase(draw, 2)} ==", paragraph(draw), paragraph(draw)]
        if draw.random() < 0.3:
            parts.append("\n".join(f"* {phrase(draw, 8)}" for _ in range(6)))
        if draw.random() < 0.2:
            rows = "\n|-\n".join(f"| {phrase(draw, 2)} || {phrase(draw, 1)} || 3" for _ in range(8))
            parts.append(f'{{| class="wikitable"\n! A !! B !! C\n|-\n{rows}\n|}}')
    parts += ["== References ==\n{{reflist}}", "[[Category:Towers]]\n[[Category:Lamps]]"]
    return "\n\n".join(parts)


def paragraph(draw: random.Random) -> str:
    """Return about sixty words, one in nine of them with markup."""
    return " ".join(islice((phrase(draw, 8) for _ in iter(int, 1)), draw.randint(4, 10))) + "."


def phrase(draw: random.Random, words: int) -> str:
    """Return `words` words, in most cases followed by one piece of markup."""
    text = " ".join(draw.choices(WORDS, k=words))
    if draw.random() < 0.8:
        text += " " + draw.choice(MARKUP_TEMPLATES).format(*draw.choices(WORDS, k=3), draw.randint(2, 90))
    return text


if __name__ == "__main__":
    main()
