"""Compare the preset `fineweb2` with FineWeb-2's filters over texts in many languages, by rule and by language.

usage: python bench/filters/parity_fineweb2.py CHECKOUT TEXTS [--show RULE ...] [--theirs FILE]

CHECKOUT is a working tree of github.com/huggingface/fineweb-2 at commit d0defb24f193bb9a5a11b8b14524a03c4858e1b6. TEXTS
is a JSON lines file with `text`, `url` and `language` (`bench/filters/corpus.py --language CODE` makes one). Both
sides take the language from there: FineWeb-2's own model and scores are not compared. A verdict agrees if both keep or
both drop. Half of the texts, by their hash, is held back from tuning: the rows of the language `held back`. --show
prints the texts on which a rule disagrees; --theirs reuses the output of an earlier run of the peer. Prints one JSON
line for each rule and each language, and one for the speed.
"""

import hashlib
import json
import sys
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.filters.agreement import Agreement, arguments, note, pairs, verdicts_of_peer
from thresher.filters.rules.presets import PRESETS
from thresher.filters.text import AnalyzedText

CHAIN = "chain_fineweb2"


def main() -> None:
    """Compare, and print the lines."""
    args = arguments(__doc__, checkout=True)
    with verdicts_of_peer(args, "filters/filter_fineweb2.py", "datatrove-filters") as (theirs, _):
        found: dict[tuple[str, str], Agreement] = defaultdict(Agreement)
        begun = time.process_time()
        for row, other in pairs(args.texts, theirs):
            groups = (row["language"], "all", "held back" if is_held_back(row["text"]) else "tuned with")
            for name, reason in reasons(row).items():
                for language in groups:
                    same = note(found[name, language], reason, other[name], None, "")
                if not same and name in args.show:
                    print(json.dumps({"ours": reason, "theirs": other[name], **row}))
        cost = time.process_time() - begun
    for (name, language), each in sorted(found.items()):
        figures = each.figures()
        del figures["same_text"]  # no rule of the preset edits a text
        print(json.dumps({"rule": name, "language": language, **figures}))
    speed = round(found[CHAIN, "all"].documents / cost, 1)
    print(json.dumps({"bench": "parity_fineweb2", "all_rules_docs_s_core": speed}))


def is_held_back(text: str) -> bool:
    """Return whether a text is in the half that nothing was tuned with."""
    return bool(hashlib.sha256(text.encode()).digest()[0] & 1)


def reasons(row: dict[str, str]) -> dict[str, str]:
    """Return the reason of each rule alone, and that of the chain. No rule of the preset edits the text."""
    text = AnalyzedText(text=row["text"], language=row["language"], language_score=1.0)
    found = {rule.name: rule(text).reason or "" for rule in PRESETS["fineweb2"]}
    return {**found, CHAIN: next((reason for reason in found.values() if reason), "")}


if __name__ == "__main__":
    main()
