"""Compare perplexities and buckets with those of CCNet's own code over the same texts.

usage: python bench/filters/parity_ccnet.py CHECKOUT CODE=TEXTS... [--build-binary PROGRAM] [--size PIECES] [--train N]

CHECKOUT is a working tree of github.com/facebookresearch/cc_net at commit bda555bd1cf1ee2e0b925363e62a61cd46c8b60d;
its code runs in an environment of its own (`bench/peers/filters/measure_ccnet.py`), with CCNet's own percentiles.
TEXTS is a JSON lines file of a language with `text` or `gold_text` (`bench/filters/corpus.py` makes one); it may be
packed (.zst). The code of `thresher train pieces` and `thresher train perplexity` makes models of its first N texts.
Both sides measure all texts and the odd ones of tests/filters/odd_texts.py with the same files. --build-binary is
KenLM's program: it converts the models to the form that CCNet publishes. Prints one JSON line: how many perplexities
and buckets are equal, the largest relative difference, and CPU seconds of both sides, models not counted.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.filters.signals import read_rows
from bench.peers import environments
from tests.filters.odd_texts import ODD
from thresher.filters.signals.kenlm_file import load_pieces, load_scorer
from thresher.filters.signals.perplexity import HEAD, PerplexityRule, parse_cutoffs
from thresher.filters.signals.signal_settings import PerplexityModel
from thresher.filters.text import AnalyzedText
from thresher.pipeline.training.model_training import train_language_model, train_piece_model
from thresher.pipeline.training.text_sources import Example

BUCKETS = ("head", "middle", "tail")
CUTOFFS = "cc_net/data/cutoff.csv"


def main() -> None:
    """Train, measure on both sides, and print one JSON line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("texts", nargs="+")
    parser.add_argument("--build-binary", type=Path)
    parser.add_argument("--size", type=int, default=8000)
    parser.add_argument("--train", type=int, default=1000)
    args = parser.parse_args()
    rows = [
        {"text": row.get("text") or row.get("gold_text") or "", "language": language}
        for language, _, path in (named.partition("=") for named in args.texts)
        for row in read_rows(Path(path))
    ]
    languages = sorted({row["language"] for row in rows})
    # CCNet's code ends at a lone surrogate.
    odd = [text for name, text in ODD.items() if name != "lone surrogates"]
    every = rows + [{"text": text, "language": language} for language in languages for text in odd]
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for language in languages:
            own = [Example(text=row["text"]) for row in rows if row["language"] == language]
            train(directory, language, own[: args.train], args)
        ours, spent = measured(directory, args.checkout, languages, every)
        theirs, peer = measured_by_ccnet(directory, args.checkout, every)
    pairs = list(zip(ours, theirs, strict=True))
    both = [(a, b) for (a, _), (b, _) in pairs if a is not None and b is not None]
    found = {
        "texts": len(rows),
        "odd_texts": len(every) - len(rows),
        "measured": len(both),
        "equal_perplexities": sum(a[0] == b[0] for a, b in pairs),
        "largest_relative_difference": max(abs(a - b) / b for a, b in both),
        "equal_buckets": sum(a[1] == b[1] for a, b in pairs),
        "buckets": dict(Counter(bucket for _, bucket in ours)),
        "cpu_s": round(spent, 2),
        "peer_cpu_s": round(peer["cpu_s"], 2),
        "peer": peer,
    }
    print(json.dumps(found))


def train(directory: Path, language: str, texts: list[Example], args: argparse.Namespace) -> None:
    """Make the models of a language under CCNet's names."""
    pieces = directory / f"{language}.sp.model"
    train_piece_model(texts, pieces, 0.02, args.size)
    arpa, target = directory / f"{language}.arpa", directory / f"{language}.arpa.bin"
    train_language_model(texts, arpa, 0.02, 5, pieces.read_bytes())
    if args.build_binary:
        subprocess.run([args.build_binary, arpa, target], check=True, stderr=subprocess.DEVNULL)
    else:
        shutil.copy(arpa, target)


def measured(
    directory: Path, checkout: Path, languages: list[str], rows: list[dict[str, str]]
) -> tuple[list[tuple[float | None, str]], float]:
    """Return our perplexity and bucket of each text, and CPU seconds."""
    scorers = {code: load_scorer((directory / f"{code}.arpa.bin").read_bytes()) for code in languages}
    splitters = {code: load_pieces((directory / f"{code}.sp.model").read_bytes()) for code in languages}
    rule = PerplexityRule(
        models=tuple(PerplexityModel(code, code, code) for code in languages),
        ends=parse_cutoffs((checkout / CUTOFFS).read_text().splitlines()),
        scorer=scorers.__getitem__,
        pieces=splitters.__getitem__,
    )
    texts = [AnalyzedText(text=row["text"], language=row["language"], language_score=1.0) for row in rows]
    began = time.process_time()
    found = [rule(text).measurements for text in texts]
    spent = time.process_time() - began
    return [(each.get("perplexity"), bucket_name(each.get("perplexity_bucket"))) for each in found], spent


def bucket_name(measured: float | None) -> str:
    """Return CCNet's name of a bucket."""
    return "all" if measured is None else BUCKETS[int(measured) - HEAD]


def measured_by_ccnet(
    directory: Path, checkout: Path, rows: list[dict[str, str]]
) -> tuple[list[tuple[float | None, str]], dict]:
    """Return CCNet's perplexity and bucket of each text, and what the peer prints."""
    texts, out = directory / "texts.jsonl", directory / "out.jsonl"
    texts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [*environments.command("filters/measure_ccnet.py", "ccnet")]
    files = [str(path) for path in (checkout, directory, texts, out)]
    printed = subprocess.run([*command, *files], check=True, stdout=subprocess.PIPE, text=True).stdout
    lines = map(json.loads, out.read_text().splitlines())
    return [(each["perplexity"], each["bucket"]) for each in lines], json.loads(printed)


if __name__ == "__main__":
    main()
