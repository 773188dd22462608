"""Run DCLM's own filters over the texts of a JSON lines file, each group alone and as a chain.

usage: filter_dclm.py CHECKOUT TEXTS OUT

CHECKOUT is a working tree of github.com/mlfoundations/dclm at commit 361714bdd60bb9b7f4b2d8354cebbf0dec0c329e. The
steps and their parameters are those of its baselines_configs/dclm_baseline_refinedweb.yaml. A line of TEXTS has `text`
and `url`. A line of OUT has for each group the step that drops the document, or an empty string; and hashes of the
edited texts of kept documents. `steps` has the steps of the group `dclm_quality` that would drop it, each alone. Left
out are the steps on URLs and on the language. Prints one JSON line: CPU
seconds by group, number of documents, versions.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.peers.filters.text_digest import text_digest

UNUSED = (
    *("boto3", "cloudpathlib", "jsonlines", "kenlm", "langdetect", "sentencepiece", "transformers"),
    *("zstandard", "justext", "bs4", "unidecode"),
)
"""What the modules import for steps and files that are not used here."""
Step = tuple[str, Callable[[dict[str, Any]], list[dict[str, Any]]]]
GROUPS: Mapping[str, tuple[str, ...]] = {
    "dclm_urls": ("url_removal_modifier", "newline_removal_modifier"),
    "dclm_quality": (
        "page_length_filter",
        "word_length_filter",
        "symbol_ratio_filter",
        "bullet_count_filter",
        "ellipsis_count_filter",
        "alphabetic_word_ratio_filter",
        "stop_word_filter",
    ),
    "dclm_repetition": ("massive_web_repetition_filters",),
    "refinedweb_lines": (
        "word_counter_enricher",
        "uppercase_ratio_line_modifier",
        "numeric_ratio_line_modifier",
        "counter_line_modifier",
        "line_length_modifier",
        "substring_line_modifier",
        "word_removal_ratio_filter",
    ),
}


def steps(checkout: Path) -> list[Step]:
    """Return the steps of the configuration that look at texts, in order."""
    modules = imported(checkout)
    named = checkout / "baselines/baselines_configs/dclm_baseline_refinedweb.yaml"
    wanted = {name for names in GROUPS.values() for name in names}
    found: list[Step] = []
    for step in import_module("yaml").safe_load(named.read_text())[0]["steps"]:
        name = step.pop("func")
        if name in wanted:
            found.append((name, step_function(modules, name, step)))
    return found


def imported(checkout: Path) -> Sequence[ModuleType]:
    """Return the modules of the checkout. They read files relative to it."""
    os.chdir(checkout)
    sys.path[:0] = [str(checkout), str(checkout / "baselines")]
    sys.modules.update(dict.fromkeys(UNUSED, MagicMock()))
    names = ("filters.content_filters", "modifiers", "enrichers.enrichers")
    return [import_module(f"baselines.mappers.{name}") for name in names]


def step_function(
    modules: Sequence[ModuleType], name: str, parameters: Mapping[str, Any]
) -> Callable[[dict[str, Any]], list[dict[str, Any]]]:
    """Return the function of a step with its parameters, made once if it is a factory."""
    function = next(getattr(module, name) for module in modules if hasattr(module, name))
    if hasattr(function, "_is_factory"):
        made: Callable[[dict[str, Any]], list[dict[str, Any]]] = function(**parameters)
        return made
    return lambda page: function(page, **parameters)


def verdict(chosen: Sequence[Step], row: Mapping[str, Any]) -> tuple[str, str]:
    """Return the first step that drops a document, or an empty string; and the text that is left."""
    page = {"text": row["text"], "url": row["url"]}
    for name, step in chosen:
        if not step(page):
            return name, page["text"]
    return "", page["text"]


def main() -> None:
    """Run, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    texts, target = args.texts.resolve(), args.out.resolve()
    every = steps(args.checkout.resolve())
    groups = {name: [step for step in every if step[0] in names] for name, names in GROUPS.items()}
    groups["chain_dclm"] = every
    costs = dict.fromkeys(groups, 0.0)
    documents = 0
    with texts.open(encoding="utf-8") as file, target.open("w", encoding="utf-8") as out:
        for line in file:
            row = json.loads(line)
            documents += 1
            found: dict[str, Any] = {}
            for name, chosen in groups.items():
                begun = time.process_time()
                reason, text = verdict(chosen, row)
                costs[name] += time.process_time() - begun
                found[name] = reason
                if not reason:
                    found[f"{name}.text"] = text_digest(text)
            alone = groups["dclm_quality"]
            found["steps"] = sorted({name for name, step in alone if verdict([(name, step)], row)[0]})
            out.write(json.dumps(found) + "\n")
    print(
        json.dumps(
            {
                "peer": "dclm",
                "version": f"uniseg {version('uniseg')}, retrie {version('retrie')}",
                "documents": documents,
                "cpu_s": {name: round(cost, 2) for name, cost in costs.items()},
            }
        )
    )


if __name__ == "__main__":
    main()
