"""Run datatrove's filters over the texts of a JSON lines file, each alone and as chains.

usage: filter_datatrove.py TEXTS OUT [--lid FILE] [--only NAME ...]

A line of TEXTS has `text` and `url`. A line of OUT has for each rule and chain the reason of the drop, or an empty
string; and hashes of the edited texts of kept documents. Prints one JSON line: CPU seconds of each chain after
everything is loaded, number of documents, versions. With --lid, the fastText model lid.176, there is also the chain
`chain_english`: URL, language, Gopher twice, C4 with lines, FineWeb, and the formatter of e-mail and IP addresses.
--only runs some of the rules and chains.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from datatrove.data import Document
from datatrove.pipeline.filters import (
    C4QualityFilter,
    FineWebQualityFilter,
    GopherQualityFilter,
    GopherRepetitionFilter,
    LanguageFilter,
    URLFilter,
)
from datatrove.pipeline.filters.base_filter import BaseFilter
from datatrove.pipeline.formatters import PIIFormatter
from datatrove.utils.lid import FT176LID
from datatrove.utils.text import split_into_parts
from loguru import logger
from tldextract import TLDExtract

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.peers.filters.text_digest import text_digest

Rules = dict[str, Sequence[BaseFilter | PIIFormatter]]


def rules() -> Rules:
    """Return the rules alone and the chains, by name."""
    repetition, quality = GopherRepetitionFilter(), GopherQualityFilter()
    c4, c4_fineweb, fineweb = (
        C4QualityFilter(),
        C4QualityFilter(filter_no_terminal_punct=False),
        FineWebQualityFilter(),
    )
    url = URLFilter()
    url.tldextractor = TLDExtract(suffix_list_urls=())  # its snapshot: nothing is fetched
    return {
        "gopher_repetition": [repetition],
        "gopher_quality": [quality],
        "c4": [c4],
        "c4_not_terminal": [c4_fineweb],
        "fineweb_rule": [fineweb],
        "url": [url],
        "chain_gopher": [repetition, quality],
        "chain_fineweb": [repetition, quality, c4_fineweb, fineweb],
    }


def verdict(filters: Sequence[BaseFilter | PIIFormatter], text: str, url: str) -> tuple[str, str]:
    """Return the reason of the first filter that drops a document, or an empty string; and the text that is left."""
    document = Document(text=text, id="", metadata={"url": url})
    for each in filters:
        if isinstance(each, PIIFormatter):
            document.text = each.format(document.text)
            continue
        try:
            result = each.filter(document)
        except (ZeroDivisionError, AssertionError) as error:
            return f"{type(each).__name__}:{type(error).__name__}", document.text
        if isinstance(result, tuple):
            return f"{type(each).__name__}:{result[1]}", document.text
        if not result:
            return type(each).__name__, document.text
    return "", document.text


def main() -> None:
    """Run, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("texts", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--lid", type=Path)
    parser.add_argument("--only", nargs="*")
    args = parser.parse_args()
    logger.remove()
    every = rules()
    if args.lid:
        FT176LID.MODEL_URL = str(args.lid)
        every["chain_english"] = [
            *every["url"],
            LanguageFilter("en"),
            *every["chain_fineweb"],
            PIIFormatter(),
        ]
    every = {name: filters for name, filters in every.items() if not args.only or name in args.only}
    for filters in every.values():
        verdict(filters, "Warm up. " * 100, "https://example.org/")  # loads spaCy and the lists
    costs = dict.fromkeys(every, 0.0)
    documents = 0
    with args.texts.open(encoding="utf-8") as file, args.out.open("w", encoding="utf-8") as out:
        for line in file:
            row = json.loads(line)
            documents += 1
            found: dict[str, str] = {}
            for name, filters in every.items():
                if name.startswith("chain_"):
                    split_into_parts.cache_clear()  # the rules alone have split this text already
                begun = time.process_time()
                reason, text = verdict(filters, row["text"], row["url"])
                costs[name] += time.process_time() - begun
                found[name] = reason
                if not reason:
                    found[f"{name}.text"] = text_digest(text)
            out.write(json.dumps(found) + "\n")
    print(
        json.dumps(
            {
                "peer": "datatrove",
                "version": f"datatrove {version('datatrove')}, spacy {version('spacy')}",
                "documents": documents,
                "cpu_s": {name: round(cost, 2) for name, cost in costs.items()},
            }
        )
    )


if __name__ == "__main__":
    main()
