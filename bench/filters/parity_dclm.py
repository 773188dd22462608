"""Compare the presets `refinedweb` and `dclm` with DCLM's own filters over the same documents, rule by rule.

usage: python bench/filters/parity_dclm.py CHECKOUT TEXTS [--show RULE ...] [--theirs FILE]

CHECKOUT is a working tree of github.com/mlfoundations/dclm at commit 361714bdd60bb9b7f4b2d8354cebbf0dec0c329e; its code
runs in an environment of its own (`bench/peers/filters/filter_dclm.py`). TEXTS is a JSON lines file with `text` and
`url` (`bench/filters/corpus.py` makes one) in English. A verdict agrees if both keep or both drop. The steps of DCLM's
quality filters are compared one by one too, each with the thresholds of Thresher that stand for it. Texts that both
keep are compared. --show prints the texts on which a rule disagrees; --theirs reuses the output of an earlier run of
the peer. Prints one JSON line for each rule, and one for the speed: documents per CPU second of the chain on both
sides.
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
from thresher.filters.rules.dclm import DclmQuality, DclmRepetition
from thresher.filters.rules.dclm_urls import DclmUrls
from thresher.filters.rules.presets import PRESETS
from thresher.filters.rules.refinedweb import RefinedWebLines
from thresher.filters.text import AnalyzedText, Rule

RULES: dict[str, Sequence[Rule]] = {
    "dclm_urls": [DclmUrls()],
    "dclm_quality": [DclmQuality()],
    "dclm_repetition": [DclmRepetition()],
    "refinedweb_lines": [RefinedWebLines()],
    "chain_dclm": PRESETS["dclm"],
}
LIMITS = {
    "page_length_filter": {"fewest_words", "most_words"},
    "word_length_filter": {"shortest_mean", "longest_mean"},
    "symbol_ratio_filter": {"most_symbols"},
    "bullet_count_filter": {"most_bullets"},
    "ellipsis_count_filter": {"most_ellipses"},
    "alphabetic_word_ratio_filter": {"most_without_letter"},
    "stop_word_filter": {"fewest_stop_words"},
}
"""DCLM's steps, and the parameters of `dclm_quality` that stand for them."""


def only(parameters: set[str]) -> DclmQuality:
    """Return the rule with these limits alone."""
    none = {
        **dict.fromkeys(("fewest_words", "shortest_mean", "fewest_stop_words"), 0),
        **dict.fromkeys(("most_words", "longest_mean"), 10**9),
        **dict.fromkeys(("most_symbols", "most_bullets", "most_ellipses", "most_without_letter"), 10**9),
    }
    return DclmQuality(**{name: value for name, value in none.items() if name not in parameters})


def main() -> None:
    """Compare, and print the lines."""
    args = arguments(__doc__, checkout=True)
    with verdicts_of_peer(args, "filters/filter_dclm.py", "dclm") as (theirs, peer):
        found, cost = compare(args.texts, theirs, args.show)
    for name, each in found.items():
        print(json.dumps({"rule": name, **each.figures()}))
    documents = found["chain_dclm"].documents
    speed = {
        "docs_s_core": round(documents / cost, 1),
        "over_peer": round(peer["cpu_s"]["chain_dclm"] / cost, 2) if peer else None,
    }
    print(json.dumps({"bench": "parity_dclm", "speed": speed}))


def compare(texts: Path, theirs: Path, show: Sequence[str]) -> tuple[dict[str, Agreement], float]:
    """Return the agreement of each rule and step, and the CPU seconds of our chain."""
    found = {name: Agreement() for name in (*RULES, *LIMITS)}
    steps = {name: only(parameters) for name, parameters in LIMITS.items()}
    cost = 0.0
    for row, other in pairs(texts, theirs):
        document = SimpleNamespace(id="", text=row["text"], url=row["url"], license="")
        for name, chosen in RULES.items():
            begun = time.process_time()
            verdict = judge(document, ENGLISH, chosen)  # type: ignore[arg-type]
            edited = apply(document.text, verdict.edits)
            cost += time.process_time() - begun if name == "chain_dclm" else 0.0
            same = note(found[name], verdict.reason, other[name], other.get(f"{name}.text"), edited)
            if not same and name in show:
                print(json.dumps({"rule": name, "edited": edited, "text": row["text"]}))
        text = AnalyzedText(text=row["text"], language="en", language_score=1.0)
        for name, rule in steps.items():
            reason = rule(text).reason or ""
            same = note(found[name], reason, name if name in other["steps"] else "", None, "")
            if not same and name in show:
                print(json.dumps({"rule": name, "ours": reason, "text": row["text"]}))
    return found, cost


if __name__ == "__main__":
    main()
