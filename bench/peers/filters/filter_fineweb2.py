"""Run FineWeb-2's filters over the texts of a JSON lines file, with the limits of each text's language.

usage: filter_fineweb2.py CHECKOUT TEXTS OUT

CHECKOUT is a working tree of github.com/huggingface/fineweb-2 at commit d0defb24f193bb9a5a11b8b14524a03c4858e1b6: its
configs/*.yml have the limits. The filters are datatrove's, in the order and with the parameters of its
fineweb-2-pipeline.py (step 5). A line of TEXTS has `text`, `url` and `language`, an ISO 639-1 code. A line of OUT has
for each filter and for the chain the reason of the drop, or an empty string. Prints one JSON line: CPU seconds after
tokenizers are loaded, number of documents, versions.
"""

import argparse
import csv
import json
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from datatrove.pipeline.filters import FineWebQualityFilter, GopherQualityFilter, GopherRepetitionFilter
from datatrove.pipeline.filters.base_filter import BaseFilter
from datatrove.utils._import_utils import ASSETS_PATH
from datatrove.utils.text import split_into_parts
from loguru import logger

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.peers.filters.filter_datatrove import verdict

Rules = dict[str, Sequence[BaseFilter]]


def rules(checkout: Path, code: str) -> Rules:
    """Return the filters alone and the chain for a language."""
    name = config_name(checkout, code)
    limits: dict[str, Any] = import_module("yaml").safe_load(
        (checkout / "configs" / f"{name}.yml").read_text()
    )
    repetition = GopherRepetitionFilter(
        language=name,
        dup_para_frac=0,
        dup_line_char_frac=0,
        dup_para_char_frac=0,
        dup_line_frac=limits["dup_line_frac"],
        top_n_grams=limits["top_n_grams"],
        dup_n_grams=limits["dup_n_grams"],
    )
    lines = FineWebQualityFilter(
        language=name,
        short_line_thr=999,
        char_duplicates_ratio=0.1,
        line_punct_thr=limits["line_punct_thr"],
        new_line_ratio=limits["new_line_ratio"],
    )
    quality = GopherQualityFilter(
        language=name,
        max_avg_word_length=limits["max_avg_word_length"],
        min_avg_word_length=limits["min_avg_word_length"],
        stop_words=limits["stopwords"],
        max_non_alpha_words_ratio=limits["max_non_alpha_words_ratio"],
        min_stop_words=2,
    )
    return {
        "gopher_repetition": [repetition],
        "fineweb": [lines],
        "gopher_quality": [quality],
        "chain_fineweb2": [repetition, lines, quality],
    }


def config_name(checkout: Path, code: str) -> str:
    """Return the common language and the common script of a code, as datatrove and the configurations name them."""
    table = Path(ASSETS_PATH) / "tokenizer_assignment.csv"
    with table.open(encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row[1] == code and row[-2:] == ["TRUE", "TRUE"]]
    names = [f"{row[0]}_{row[2]}" for row in rows]
    return next(name for name in names if (checkout / "configs" / f"{name}.yml").exists())


def main() -> None:
    """Run, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    logger.remove()
    by_language: dict[str, Rules] = {}
    cost, documents = 0.0, 0
    with args.texts.open(encoding="utf-8") as file, args.out.open("w", encoding="utf-8") as out:
        for line in file:
            row = json.loads(line)
            documents += 1
            if row["language"] not in by_language:
                by_language[row["language"]] = made = rules(args.checkout, row["language"])
                for filters in made.values():
                    verdict(filters, "Warm up. " * 100, "https://example.org/")
            found: dict[str, str] = {}
            for name, filters in by_language[row["language"]].items():
                begun = time.process_time()
                found[name], _ = verdict(filters, row["text"], row["url"])
                cost += time.process_time() - begun
            split_into_parts.cache_clear()
            out.write(json.dumps(found) + "\n")
    print(
        json.dumps(
            {
                "peer": "fineweb-2",
                "version": f"datatrove {version('datatrove')}, spacy {version('spacy')}",
                "documents": documents,
                "cpu_s": round(cost, 2),
            }
        )
    )


if __name__ == "__main__":
    main()
