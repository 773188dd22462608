"""Measure perplexities and buckets with CCNet's own code over the texts of a JSON lines file.

usage: measure_ccnet.py CHECKOUT MODELS TEXTS OUT

CHECKOUT is a working tree of github.com/facebookresearch/cc_net at commit bda555bd1cf1ee2e0b925363e62a61cd46c8b60d.
MODELS is a directory with `LANGUAGE.sp.model` and `LANGUAGE.arpa.bin`. A line of TEXTS has `text` and `language`. The
steps on pieces, models and buckets run as cc_net/mine.py composes them. A line of OUT has `perplexity`, null if there
is none, and `bucket`. Prints one JSON line: CPU seconds, number of texts, versions.
"""

import argparse
import json
import sys
import time
from importlib import import_module
from importlib.metadata import version
from pathlib import Path


def main() -> None:
    """Measure each text, and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("checkout", "models", "texts", "out"):
        parser.add_argument(name, type=Path)
    args = parser.parse_args()
    sys.path.insert(0, str(args.checkout))
    perplexity = import_module("cc_net.perplexity")
    languages = [path.name.split(".")[0] for path in args.models.glob("*.arpa.bin")]
    steps = (
        perplexity.MultiSentencePiece(
            {code: args.models / f"{code}.sp.model" for code in languages},
            field="raw_content",
            output_field="tokenized",
            normalize=True,
        ),
        perplexity.DocLM(
            {code: args.models / f"{code}.arpa.bin" for code in languages},
            field="tokenized",
            output_field="perplexity",
            normalize=False,
        ),
        perplexity.PerplexityBucket(args.checkout / "cc_net" / "data" / "cutoff.csv"),
    )
    for step in steps:
        step._prepare()  # noqa: SLF001 - as its runner
    with args.texts.open(encoding="utf-8", newline="\n") as file:
        documents = [
            {"raw_content": row["text"], "language": row["language"]} for row in map(json.loads, file)
        ]
    began = time.process_time()
    for document in documents:
        for step in steps:
            step.do(document)
    spent = time.process_time() - began
    with args.out.open("w", encoding="utf-8") as file:
        for document in documents:
            found = {"perplexity": document.get("perplexity"), "bucket": document["bucket"]}
            file.write(json.dumps(found) + "\n")
    versions = {name: version(name) for name in ("kenlm", "sentencepiece")}
    print(json.dumps({"cpu_s": spent, "texts": len(documents), **versions}))


if __name__ == "__main__":
    main()
