"""Split the runs of characters without white space of the texts of a JSON lines file as FineWeb-2 does.

usage: split_runs.py TEXTS OUT

A line of TEXTS has `text` and `language`, an ISO 639-1 code. A line of OUT is a list: language, run, number of times
that it occurs, tokens. Runs are split as `filters.words.spaced` separates them, each by the tokenizer that datatrove
assigns to the common variety of the language, and alone: what a tokenizer does across white space does not count.
"""

import argparse
import csv
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

from datatrove.utils._import_utils import ASSETS_PATH
from datatrove.utils.word_tokenizers import load_word_tokenizer

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from thresher.filters.words import spaced

LONGEST = 2000


def main() -> None:
    """Split, and write the lines."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("texts", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    runs: dict[str, Counter[str]] = defaultdict(Counter)
    with args.texts.open(encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            runs[row["language"]].update(spaced(row["text"]).split())
    with args.out.open("w", encoding="utf-8") as out:
        for language, found in runs.items():
            tokenizer = load_word_tokenizer(name_of(language))
            for run, count in found.items():
                if len(run) <= LONGEST:
                    out.write(json.dumps([language, run, count, tokenizer.word_tokenize(run)]) + "\n")


def name_of(code: str) -> str:
    """Return the common variety and the common script of a language, as datatrove names them."""
    table = Path(ASSETS_PATH) / "tokenizer_assignment.csv"
    with table.open(encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row[1] == code and row[-2:] == ["TRUE", "TRUE"]]
    return f"{rows[0][0]}_{rows[0][2]}"


if __name__ == "__main__":
    main()
