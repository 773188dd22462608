"""Compare the verdicts of Thresher's rules with those of datatrove's filters over the same documents.

usage: python bench/filters/parity.py TEXTS [--show RULE ...] [--theirs FILE]

TEXTS is a JSON lines file with `text` and `url` (`bench/filters/corpus.py` makes one). Both sides judge each text by
each rule alone and by each chain (`bench/peers/filters/filter_datatrove.py`). A verdict agrees if both keep or both
drop. Texts that both keep after rules that edit are compared too. --show prints the texts on which a rule disagrees;
--theirs reuses the output of an earlier run of the peer. Prints one JSON line for each rule, with the differences by
cause, and one for the speed of the chains: documents per CPU second, each text split anew for each chain.
"""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.filters.agreement import ENGLISH, Agreement, arguments, note, pairs, verdicts_of_peer
from thresher.filters.edits import apply
from thresher.filters.judge import judge
from thresher.filters.rules.c4 import C4
from thresher.filters.rules.fineweb import FineWeb
from thresher.filters.rules.gopher import GopherQuality, GopherRepetition
from thresher.filters.text import Rule

RULES: dict[str, Sequence[Rule]] = {
    "gopher_repetition": [GopherRepetition()],
    "gopher_quality": [GopherQuality()],
    "c4": [C4()],
    "c4_not_terminal": [C4(terminal=False)],
    "fineweb_rule": [FineWeb()],
    "chain_gopher": [GopherRepetition(), GopherQuality()],
    "chain_fineweb": [GopherRepetition(), GopherQuality(), C4(terminal=False), FineWeb()],
}


def main() -> None:
    """Compare, and print the lines."""
    args = arguments(__doc__)
    with verdicts_of_peer(args, "filters/filter_datatrove.py", "datatrove-filters") as (theirs, peer):
        found, costs = compare(args.texts, theirs, args.show)
    for name, each in found.items():
        print(json.dumps({"rule": name, **each.figures()}))
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
    for row, other in pairs(texts, theirs):
        document = SimpleNamespace(id="", text=row["text"], url=row["url"], license="")
        for name, chosen in RULES.items():
            begun = time.process_time()
            verdict = judge(document, ENGLISH, chosen)  # type: ignore[arg-type]
            edited = apply(document.text, verdict.edits)
            costs[name] += time.process_time() - begun
            reason = other[name]
            same = note(found[name], verdict.reason, reason, other.get(f"{name}.text"), edited)
            if same or name not in show:
                continue
            if verdict.keep and not reason:
                print(json.dumps({"rule": name, "edited": edited, "text": row["text"]}))
            else:
                side = f"only theirs: {reason}" if reason else f"only ours: {verdict.reason}"
                cause, measured = f"{row['source']}: {side}", dict(verdict.measurements)
                print(json.dumps({"cause": cause, "measured": measured, "text": row["text"]}))
    return found, costs


if __name__ == "__main__":
    main()
