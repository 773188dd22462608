"""Compare the verdicts of Thresher's rules with those of datatrove's filters over the same documents.

usage: python bench/parity.py TEXTS [--show RULE ...] [--theirs FILE]

TEXTS is a JSON lines file with `text` and `url` (`bench/corpus.py` makes one). Both sides judge each text by each rule
alone and by each chain (`bench/peers/filter_datatrove.py`). A verdict agrees if both keep or both drop. Texts that
both keep after rules that edit are compared too. --show prints the texts on which a rule disagrees; --theirs reuses the
output of an earlier run of the peer. Prints one JSON line for each rule, with the differences by cause, and one for
the speed of the chains: documents per CPU second, each text split anew for each chain.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.peers import environments
from filters.edits import apply
from filters.judge import judge
from filters.models.language import LanguagePrediction
from filters.rules.c4 import C4
from filters.rules.fineweb import FineWeb
from filters.rules.gopher import GopherQuality, GopherRepetition
from filters.text import Rule

RULES: dict[str, Sequence[Rule]] = {
    "gopher_repetition": [GopherRepetition()],
    "gopher_quality": [GopherQuality()],
    "c4": [C4()],
    "c4_not_terminal": [C4(terminal=False)],
    "fineweb_rule": [FineWeb()],
    "chain_gopher": [GopherRepetition(), GopherQuality()],
    "chain_fineweb": [GopherRepetition(), GopherQuality(), C4(terminal=False), FineWeb()],
}
ENGLISH = LanguagePrediction(code="en", score=1.0)


@dataclass
class Agreement:
    """What was compared of a rule."""

    documents: int = 0
    both_keep: int = 0
    agree: int = 0
    same_text: int = 0
    causes: Counter[str] = field(default_factory=Counter)


def main() -> None:
    """Compare, and print the lines."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("texts", type=Path)
    parser.add_argument("--show", nargs="*", default=[])
    parser.add_argument("--theirs", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        theirs = args.theirs or Path(directory) / "theirs.jsonl"
        peer = {}
        if not theirs.exists():
            command = environments.command("filter_datatrove.py", "datatrove-filters")
            output = subprocess.check_output([*command, str(args.texts), str(theirs)], text=True)
            peer = json.loads(output.splitlines()[-1])
            print(json.dumps(peer), flush=True)
        found, costs = compare(args.texts, theirs, args.show)
    for name, each in found.items():
        line = {
            "rule": name,
            "documents": each.documents,
            "agreement": round(each.agree / each.documents, 5),
            "both_keep": each.both_keep,
            "same_text": round(each.same_text / max(each.both_keep, 1), 5),
            "differences": dict(each.causes.most_common()),
        }
        print(json.dumps(line))
    speed = {
        name: {
            "docs_s_core": round(found[name].documents / cost, 1),
            "over_peer": round(peer["cpu_s"][name] / cost, 2) if peer else None,
        }
        for name, cost in costs.items()
    }
    print(json.dumps({"bench": "parity", "speed": speed}))


def compare(texts: Path, theirs: Path, show: Sequence[str]) -> tuple[dict[str, Agreement], dict[str, float]]:
    """Return the agreement of each rule, and the CPU seconds of ours."""
    found = {name: Agreement() for name in RULES}
    costs = dict.fromkeys(RULES, 0.0)
    with texts.open(encoding="utf-8") as ours_file, theirs.open(encoding="utf-8") as theirs_file:
        for line, answer in zip(ours_file, theirs_file, strict=True):
            row, other = json.loads(line), json.loads(answer)
            document = SimpleNamespace(id="", text=row["text"], url=row["url"], license="")
            for name, chosen in RULES.items():
                begun = time.process_time()
                verdict = judge(document, ENGLISH, chosen)  # type: ignore[arg-type]
                edited = apply(document.text, verdict.edits)
                costs[name] += time.process_time() - begun
                each, reason = found[name], other[name]
                each.documents += 1
                each.agree += verdict.keep == (not reason)
                if verdict.keep and not reason:
                    each.both_keep += 1
                    same = digest(edited) == other[f"{name}.text"]
                    each.same_text += same
                    if not same:
                        each.causes["text differs"] += 1
                        if name in show:
                            print(json.dumps({"rule": name, "edited": edited, "text": row["text"]}))
                elif verdict.keep == (not reason):
                    pass
                else:
                    cause = (
                        f"{row['source']}: only theirs: {reason}"
                        if reason
                        else f"{row['source']}: only ours: {verdict.reason}"
                    )
                    each.causes[cause.partition(": ")[2]] += 1
                    if name in show:
                        print(
                            json.dumps(
                                {"cause": cause, "measured": dict(verdict.measurements), "text": row["text"]}
                            )
                        )
    return found, costs


def digest(text: str) -> str:
    """Return the hash that stands for a text."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]


if __name__ == "__main__":
    main()
