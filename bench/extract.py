"""Extract the main text of gold pages with Thresher and other tools, in one run: quality by source and kind, CPU time.

usage: python bench/extract.py --data DIR [--tools [NAME ...]] [--sample K]

DIR holds `gold.jsonl.zst` and `pages.tar.zst`. The other tools are those of `bench/peers/extract_text.py`, each in an
environment of its own; `--tools` without a name runs none of them. Thresher itself also runs with each other engine
(`extract.engine`). The scores are those of `bench/scoring.py`:
precision, recall and F1 of the words of a page, averaged by source; snippets of all pages are pooled. Pages whose kind
is not an article (`extract.page.page_kind`) are also counted separately. Every tool starts from the bytes of the page.
The command prints one JSON line.
"""

import argparse
import json
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import fmean, median

import zstandard

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import scoring
from bench.peers import environments
from extract import Skip
from extract.charset import decode
from extract.engines.page_engine import EngineName, PageEngine, engine_version, load_engine
from extract.html import EXTRACTOR, extract
from tests.shared import read_tar_file

TOOLS = (
    "trafilatura", "trafilatura-fast", "trafilatura-precision", "trafilatura-recall", "resiliparse", "magic-html",
    "readability", "justext",
)  # fmt: skip
ENVIRONMENTS = {"magic-html": "magic-html"}
"""Environments of the tools that do not run in `extractors`."""
ENGINES: tuple[EngineName, ...] = ("trafilatura", "resiliparse")
DAY = "2026-01-01"
"""Day of the fetch of every page; the data does not state it."""
REFERENCE = frozenset(("mozilla-readability", "newspaper4k"))
"""Sources whose gold text is the reviewed output of a tool."""


def main() -> None:
    """Run all tools on all pages, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tools", nargs="*", default=TOOLS)
    parser.add_argument("--sample", type=int)
    args = parser.parse_args()
    gold = sorted(jsonl(args.data / "gold.jsonl.zst"), key=lambda row: row["id"])
    if args.sample and args.sample < len(gold):
        gold = [gold[int(index * len(gold) / args.sample)] for index in range(args.sample)]
    bodies = dict(pages(args.data / "pages.tar.zst", {row["html"] for row in gold}))
    texts, kinds, costs = extract_ours(gold, bodies)
    results = {"thresher": {"version": EXTRACTOR, **mean_scores(gold, texts, kinds), **speed(costs)}}
    for name in ENGINES:
        read, _, spent = extract_ours(gold, bodies, load_engine(name))
        results[f"thresher, {name}"] = {
            "version": engine_version(name),
            **mean_scores(gold, read, kinds),
            **speed(spent),
        }
    for tool in args.tools:
        results[tool] = extract_with_peer(args.data, tool, gold, kinds)
    result = {
        "bench": "extract",
        "pages": len(gold),
        "not_articles": sum(kind not in {"article", "page"} for kind in kinds.values()),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "tools": results,
    }
    print(json.dumps(result))


def extract_ours(
    gold: list, bodies: dict, engine: PageEngine | None = None
) -> tuple[dict, dict, list[float]]:
    """Return text and kind of every page, and the CPU seconds of each."""
    texts, kinds, costs = {}, {}, []
    for row in gold:
        begun = time.process_time()
        body = bodies[row["html"]]
        found = extract(decode(body, None).text, row["url"] or "", engine=engine, day=DAY)
        costs.append(time.process_time() - begun)
        texts[row["id"]] = "" if isinstance(found, Skip) else found.text
        kinds[row["id"]] = "page" if isinstance(found, Skip) else found.route
    return texts, kinds, costs


def extract_with_peer(data: Path, tool: str, gold: list, kinds: dict) -> dict:
    """Return the scores and the speed of another tool."""
    command = environments.command("extract_text.py", ENVIRONMENTS.get(tool, "extractors"))
    with tempfile.NamedTemporaryFile("w") as names:
        names.write("\n".join(row["html"] for row in gold))
        names.flush()
        done = subprocess.run(
            [*command, tool, str(data / "pages.tar.zst"), "--names", names.name],
            text=True,
            stdout=subprocess.PIPE,
            check=False,
        )
    if done.returncode:
        return {"failed": done.returncode}
    *lines, last = map(json.loads, done.stdout.splitlines())
    by_name = {line["name"]: line for line in lines}
    found = {row["id"]: by_name[row["html"]] for row in gold}
    return {
        **last,
        **mean_scores(gold, {key: line["text"] for key, line in found.items()}, kinds),
        **speed([line["cpu_s"] for line in found.values()]),
        "errors": sum(bool(line["error"]) for line in lines),
    }


def mean_scores(gold: list, texts: dict, kinds: dict) -> dict:
    """Return mean scores by source, of full texts, of snippets, and of pages that are not articles."""
    by: dict[str, list[scoring.Score]] = defaultdict(list)
    snippets = other = scoring.Snippets(0, 0, 0)
    for row in gold:
        text, article = texts[row["id"]], kinds[row["id"]] in {"article", "page"}
        if row["kind"] == "snippets":
            counts = scoring.snippets(text, row["with"], row["without"])
            snippets = snippets.plus(counts)
            if not article:
                other = other.plus(counts)
        elif row["kind"] != "leading_text" and scoring.bag(row["gold_text"]):
            score = scoring.words(text, row["gold_text"])
            for key in (row["source"], *(["full_text"] if row["source"] not in REFERENCE else [])):
                by[key].append(score)
            if not article:
                by["not_articles"].append(score)
    means = {
        key: {"n": len(rows), **rounded(scoring.Score(*map(fmean, zip(*rows, strict=True))))}
        for key, rows in sorted(by.items())
    }
    pooled = {
        name: rounded(counts.score())
        for name, counts in (("snippets", snippets), ("snippets_not_articles", other))
        if any(counts)
    }
    return {"full_text": means.pop("full_text", {}), **pooled, "by_source": means}


def rounded(score: scoring.Score) -> dict[str, float]:
    """Return the score with four decimals."""
    return {name: round(value, 4) for name, value in score._asdict().items()}


def speed(costs: list[float]) -> dict:
    """Return pages a second on one core, and the median of a page in milliseconds, from bytes to text."""
    return {"docs_s_core": round(len(costs) / sum(costs), 1), "median_ms": round(1000 * median(costs), 2)}


def jsonl(path: Path) -> list:
    """Return the rows of a compressed file of JSON lines."""
    data = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(path.open("rb")).read()
    return [json.loads(line) for line in data.decode().split("\n") if line]


def pages(path: Path, wanted: set[str]):
    """Yield names and bytes of the wanted members of a compressed tar."""
    with (
        zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(path.open("rb")) as stream,
        tarfile.open(fileobj=stream, mode="r|") as tar,
    ):
        for member in tar:
            if member.isfile() and member.name in wanted:
                yield member.name, read_tar_file(tar, member)


if __name__ == "__main__":
    main()
