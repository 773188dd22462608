"""Precision and recall of the signals on labelled sets, and their speed.

usage: python bench/signals.py pii [--half dev|held] [--errors] | ...
"""

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.labelled.license_set import SET as LICENSES
from bench.labelled.pii_set import labelled_set
from filters.signals.licenses import statements
from filters.signals.pii import PiiMasking
from filters.signals.pseudonyms import KINDS

SEED = 17
PER_KIND = 400


def main() -> None:
    """Measure one signal, and print one JSON line a class."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("signal", choices=["pii", "license"])
    parser.add_argument(
        "--half",
        choices=["dev", "held"],
        default="held",
        help="the half that patterns were tuned on, or the other",
    )
    parser.add_argument(
        "--errors", action="store_true", help="print what is missed and what is found wrongly"
    )
    args = parser.parse_args()
    for row in {"pii": pii, "license": license_}[args.signal](args):
        print(json.dumps(row))


def pii(args) -> list[dict]:
    """Compare values found with values labelled: equal if kind and characters are."""
    mask = PiiMasking()
    found, labelled, right = Counter(), Counter(), Counter()
    texts = labelled_set(PER_KIND, SEED)[0 if args.half == "dev" else 1 :: 2]
    for text, values in texts:
        wanted = Counter(values)
        got = Counter((each.kind, text[each.start : each.end]) for each in mask.occurrences(text))
        for kind, _ in got.elements():
            found[kind] += 1
        for kind, _ in wanted.elements():
            labelled[kind] += 1
        for kind, _ in (wanted & got).elements():
            right[kind] += 1
        if args.errors and wanted != got:
            print(
                repr(text),
                "missed",
                list((wanted - got).elements()),
                "wrong",
                list((got - wanted).elements()),
            )
    rows = [
        {
            "kind": kind,
            "labelled": labelled[kind],
            "found": found[kind],
            "precision": round(right[kind] / max(found[kind], 1), 3),
            "recall": round(right[kind] / max(labelled[kind], 1), 3),
        }
        for kind in KINDS
    ]
    began = time.process_time()
    for text, _ in texts:
        mask.occurrences(text)
    return [
        *rows,
        {"texts": len(texts), "us_per_text": round(1e6 * (time.process_time() - began) / len(texts), 1)},
    ]


def license_(args) -> list[dict]:
    """Compare the licences found with those that each text states."""
    texts = [each for at, each in enumerate(LICENSES) if (at // 2 % 2 == 0) == (args.half == "dev")]
    labelled = found = right = 0
    for text, wanted in texts:
        got = {each.license for each in statements(text)}
        labelled, found, right = labelled + len(wanted), found + len(got), right + len(got & {*wanted})
        if args.errors and got != {*wanted}:
            print(repr(text), "labelled", wanted, "found", got)
    return [
        {
            "texts": len(texts),
            "labelled": labelled,
            "found": found,
            "precision": round(right / max(found, 1), 3),
            "recall": round(right / max(labelled, 1), 3),
        }
    ]


if __name__ == "__main__":
    main()
