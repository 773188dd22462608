"""Main text of gold pages, by us and by others, in one run: quality by source and by kind of page, and CPU time.

usage: python bench/extract.py --data DIR --peers DIR [--python PYTHON] [--tools NAME ...] [--sample K]

DIR of --data holds `gold.jsonl.zst` and `pages.tar.zst`, that of --peers the scoring (`extract_score.py`) and the runner of the others (`extract_eval.py`),
which PYTHON runs, in an environment with trafilatura, resiliparse, magic-html, readability-lxml and jusText. Scores are those of that module: word-level
precision, recall and F1 a page, means by source; snippets pooled. Pages whose kind is not an article, as `extract.page.page_kind` has it, are
counted apart too. Ours runs on the bytes of the page, as everybody's does. Prints one JSON line.
"""

import argparse
import importlib
import json
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from statistics import fmean, median

import zstandard

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from extract import Skip
from extract.charset import decode
from extract.html import EXTRACTOR, extract

TOOLS = (
    "trafilatura", "trafilatura-fast", "trafilatura-precision", "trafilatura-recall", "resiliparse", "magic-html", "readability", "justext",
)  # fmt: skip
REFERENCE = frozenset(("mozilla-readability", "newspaper4k"))
"""Sources whose gold is reviewed output of a tool."""


def main() -> None:
    """Extract everything with everybody, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--tools", nargs="*", default=TOOLS)
    parser.add_argument("--sample", type=int)
    args = parser.parse_args()
    sys.path.insert(0, str(args.peers))
    scoring = importlib.import_module("extract_score")
    gold = sorted(jsonl(args.data / "gold.jsonl.zst"), key=lambda row: row["id"])
    if args.sample and args.sample < len(gold):
        gold = [gold[int(index * len(gold) / args.sample)] for index in range(args.sample)]
    bodies = dict(pages(args.data / "pages.tar.zst", {row["html"] for row in gold}))
    texts, kinds, costs = extract_ours(gold, bodies)
    told = {"thresher": {"version": EXTRACTOR, **mean_scores(scoring, gold, texts, kinds), **speed(costs)}}
    for tool in args.tools:
        told[tool] = extract_with_peer(args, tool, scoring, gold, kinds)
    result = {
        "bench": "extract",
        "pages": len(gold),
        "not_articles": sum(kind not in {"article", "page"} for kind in kinds.values()),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "tools": told,
    }
    print(json.dumps(result))


def extract_ours(gold: list, bodies: dict) -> tuple[dict, dict, list[float]]:
    """Text and kind of every page, and the CPU seconds of each."""
    texts, kinds, costs = {}, {}, []
    for row in gold:
        begun = time.process_time()
        body = bodies[row["html"]]
        found = extract(decode(body, None).text, row["url"] or "")
        costs.append(time.process_time() - begun)
        texts[row["id"]] = "" if isinstance(found, Skip) else found.text
        kinds[row["id"]] = "page" if isinstance(found, Skip) else found.route
    return texts, kinds, costs


def extract_with_peer(args: argparse.Namespace, tool: str, scoring: object, gold: list, kinds: dict) -> dict:
    """The same of another tool."""
    with tempfile.TemporaryDirectory() as directory:
        dump = Path(directory) / "texts.jsonl"
        command = [args.python, str(args.peers / "extract_eval.py"), tool, "--data", str(args.data), "--dump", str(dump)]  # fmt: skip
        if args.sample:
            command += ["--sample", str(args.sample)]
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE, check=False)
        if done.returncode:
            return {"failed": done.returncode}
        line = json.loads(done.stdout.splitlines()[-1])
        texts = {row["id"]: row["text"] for row in map(json.loads, dump.read_text().split("\n")[:-1])}
    return {
        "version": line["version"],
        **mean_scores(scoring, gold, texts, kinds),
        "docs_s_core": round(line["docs_s_core"], 1),
        "median_ms": round(line["median_ms"], 2),
    }


def mean_scores(scoring: object, gold: list, texts: dict, kinds: dict) -> dict:
    """Means by source, of the full texts, of the snippets, and of pages that are no articles."""
    by: dict[str, list] = defaultdict(list)
    snippets, other = Counter(), Counter()
    for row in gold:
        text, article = texts[row["id"]], kinds[row["id"]] in {"article", "page"}
        if row["kind"] == "snippets":
            counts = scoring.snippet_counts(text, row["with"], row["without"])
            snippets += counts
            if not article:
                other += counts
        elif row["kind"] != "leading_text" and scoring.tokens(row["gold_text"]):
            score = scoring.score(text, row["gold_text"])
            for key in (row["source"], *(["full_text"] if row["source"] not in REFERENCE else [])):
                by[key].append(score)
            if not article:
                by["not_articles"].append(score)
    means = {
        key: {"n": len(rows)}
        | {part: round(fmean(row[part] for row in rows), 4) for part in ("p", "r", "f1")}
        for key, rows in sorted(by.items())
    }
    pooled = {
        name: {key: round(value, 4) for key, value in scoring.snippet_score(counts).items()}
        for name, counts in (("snippets", snippets), ("snippets_not_articles", other))
        if counts
    }
    return {"full_text": means.pop("full_text", {}), **pooled, "by_source": means}


def speed(costs: list[float]) -> dict:
    """Of all pages, from bytes to text."""
    return {"docs_s_core": round(len(costs) / sum(costs), 1), "median_ms": round(1000 * median(costs), 2)}


def jsonl(path: Path) -> list:
    """Rows of a compressed file of JSON lines."""
    data = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(path.open("rb")).read()
    return [json.loads(line) for line in data.decode().split("\n") if line]


def pages(path: Path, wanted: set[str]):
    """Names and bytes of the wanted members of a compressed tar."""
    with (
        zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(path.open("rb")) as stream,
        tarfile.open(fileobj=stream, mode="r|") as tar,
    ):
        for member in tar:
            if member.isfile() and member.name in wanted:
                yield member.name, tar.extractfile(member).read()


if __name__ == "__main__":
    main()
