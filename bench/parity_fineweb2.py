"""Compare the preset `fineweb2` with FineWeb-2's filters over texts in many languages, by rule and by language.

usage: python bench/parity_fineweb2.py CHECKOUT TEXTS [--show RULE ...] [--theirs FILE]

CHECKOUT is a working tree of github.com/huggingface/fineweb-2 at commit d0defb24f193bb9a5a11b8b14524a03c4858e1b6. TEXTS
is a JSON lines file with `text`, `url` and `language` (`bench/corpus.py --language CODE` makes one). Both
sides take the language from there: FineWeb-2's own model and scores are not compared. A verdict agrees if both keep or
both drop. Half of the texts, by their hash, is held back from tuning: the rows of the language `held back`. --show
prints the texts on which a rule disagrees; --theirs reuses the output of an earlier run of the peer. Prints one JSON
line for each rule and each language, and one for the speed.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.parity_dclm import Agreement, note
from bench.peers import environments
from filters.rules.presets import PRESETS
from filters.text import AnalyzedText

CHAIN = "chain_fineweb2"


def main() -> None:
    """Compare, and print the lines."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--show", nargs="*", default=[])
    parser.add_argument("--theirs", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        theirs = args.theirs or Path(directory) / "theirs.jsonl"
        if not theirs.exists():
            command = environments.command("filter_fineweb2.py", "datatrove-filters")
            words = [*command, str(args.checkout), str(args.texts), str(theirs)]
            print(subprocess.check_output(words, text=True).splitlines()[-1], flush=True)
        found: dict[tuple[str, str], Agreement] = defaultdict(Agreement)
        begun = time.process_time()
        with args.texts.open(encoding="utf-8") as file, theirs.open(encoding="utf-8") as answers:
            for line, answer in zip(file, answers, strict=True):
                row, other = json.loads(line), json.loads(answer)
                groups = (row["language"], "all", "held back" if is_held_back(row["text"]) else "tuned with")
                for name, reason in reasons(row).items():
                    for language in groups:
                        same = note(found[name, language], reason, other[name], None, "")
                    if not same and name in args.show:
                        print(json.dumps({"ours": reason, "theirs": other[name], **row}))
        cost = time.process_time() - begun
    for (name, language), each in sorted(found.items()):
        line = {
            "rule": name,
            "language": language,
            "documents": each.documents,
            "agreement": round(each.agree / each.documents, 5),
            "both_keep": each.both_keep,
            "differences": dict(each.causes.most_common()),
        }
        print(json.dumps(line))
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
