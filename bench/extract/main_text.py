"""Extract the main text and the facts of gold pages with Thresher and other tools, in one run: quality and CPU time.

usage: python bench/extract/main_text.py --data DIR ... [--part tuned|held|all] [--tools [NAME ...]] [--sample K]

Each DIR holds `gold.jsonl.zst` and `pages.tar.zst`; `bench/extract/documentation.py` and `bench/extract/checkouts.py`
make such folders. `--part` selects pages by their hosts (`bench/extract/gold.py`): rules are tuned only on `tuned`.
The other tools are those of `bench/peers/extract/extract_text.py`, each in an environment of its own; `--tools` without
a name runs none of them. Thresher itself also runs with each other engine (`extract.engine`). Every tool starts from
the bytes of the page. The scores are those of `bench/extract/scoring.py`:

- full texts: precision, recall and F1 of the words of a page, averaged by source;
- snippets: trafilatura's own set and metric, all pages pooled;
- posts of forums: the shares of posts that are in the text, that are in it once, and that follow the post before them;
- facts, of pages whose gold has them, beside trafilatura and its htmldate: right ones (titles and authors are compared
  without case and punctuation), and missing ones.

Pages whose kind is not an article (`extract.page.page_kind`) are also counted separately. The command prints one JSON
line.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from statistics import fmean, median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.extract import gold as gold_pages
from bench.extract import scoring
from bench.peers import environments
from thresher.extract import Skip
from thresher.extract.charset import decode
from thresher.extract.engines.page_engine import EngineName, PageEngine, engine_version, load_engine
from thresher.extract.extraction import Extraction
from thresher.extract.html import EXTRACTOR, extract

TOOLS = (
    "trafilatura", "trafilatura-fast", "trafilatura-precision", "trafilatura-recall", "resiliparse", "magic-html",
    "readability", "justext",
)  # fmt: skip
ENVIRONMENTS = {"magic-html": "magic-html"}
"""Environments of the tools that do not run in `extractors`."""
ENGINES: tuple[EngineName, ...] = ("trafilatura", "resiliparse")
DAY = "2026-01-01"
"""Day of the fetch of every page; the data does not state it."""
FACTS = ("trafilatura-eval", "fundus-", "wcxb-")
"""Starts of the names of sources whose gold has titles, authors and dates that people have read."""
REFERENCE = frozenset(("mozilla-readability", "newspaper4k"))
"""Sources whose gold text is the reviewed output of a tool."""


def main() -> None:
    """Run all tools on all pages, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--part", choices=("tuned", "held", "all"), default="all")
    parser.add_argument("--tools", nargs="*", default=TOOLS)
    parser.add_argument("--sample", type=int)
    args = parser.parse_args()
    folders = gold_pages.read(args.data, args.part)
    if args.sample:
        folders = [(folder, evenly(pages, args.sample)) for folder, pages in folders]
    rows = [page.row for _, pages in folders for page in pages]
    found, costs = extract_ours([page for _, pages in folders for page in pages])
    texts = {key: each.text if each else "" for key, each in found.items()}
    kinds = {key: each.route if each else "page" for key, each in found.items()}
    facts = {
        key: {"title": each.title, "author": each.author, "date": each.date} if each else {}
        for key, each in found.items()
    }
    results = {
        "thresher": {
            "version": EXTRACTOR, **mean_scores(rows, texts, kinds), "facts": score_facts(rows, facts), **speed(costs)
        }
    }  # fmt: skip
    for name in ENGINES:
        read, spent = extract_ours([page for _, pages in folders for page in pages], load_engine(name))
        theirs = {key: each.text if each else "" for key, each in read.items()}
        results[f"thresher, {name}"] = {
            "version": engine_version(name),
            **mean_scores(rows, theirs, kinds),
            **speed(spent),
        }
    for tool in args.tools:
        results[tool] = extract_with_peer(tool, folders, kinds)
    if "trafilatura" in args.tools:
        results["trafilatura"]["facts"] = score_facts(rows, peer_facts(folders))
    result = {
        "bench": "extract",
        "part": args.part,
        "pages": len(rows),
        "not_articles": sum(kind not in {"article", "page"} for kind in kinds.values()),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "tools": results,
    }
    print(json.dumps(result))


def evenly(pages: list, most: int) -> list:
    """Return at most `most` of the pages, evenly spaced."""
    return pages if len(pages) <= most else [pages[index * len(pages) // most] for index in range(most)]


def extract_ours(
    pages: list, engine: PageEngine | None = None
) -> tuple[dict[str, Extraction | None], list[float]]:
    """Return what was extracted from every page, and the CPU seconds of each."""
    extracted: dict[str, Extraction | None] = {}
    costs = []
    for row, body in pages:
        begun = time.process_time()
        found = extract(decode(body, None).text, row["url"] or "", engine=engine, day=DAY)
        costs.append(time.process_time() - begun)
        extracted[row["id"]] = None if isinstance(found, Skip) else found
    return extracted, costs


def run_peer(
    script: str, words: list[str], folder: Path, names: list[str], environment: str
) -> list[dict] | int:
    """Return the lines that a script of `bench/peers` prints for the pages of a folder, or its exit status."""
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("\n".join(names))
        file.flush()
        done = subprocess.run(
            [
                *environments.command(script, environment),
                *words,
                str(folder / "pages.tar.zst"),
                "--names",
                file.name,
            ],
            text=True,
            stdout=subprocess.PIPE,
            check=False,
        )
    return done.returncode or list(map(json.loads, done.stdout.splitlines()))


def extract_with_peer(tool: str, folders: list, kinds: dict) -> dict:
    """Return the scores and the speed of another tool."""
    found, last, errors = {}, {}, 0
    for folder, pages in folders:
        names = [page.row["html"] for page in pages]
        lines = run_peer(
            "extract/extract_text.py", [tool], folder, names, ENVIRONMENTS.get(tool, "extractors")
        )
        if isinstance(lines, int):
            return {"failed": lines}
        *lines, last = lines
        errors += sum(bool(line["error"]) for line in lines)
        by_name = {line["name"]: line for line in lines}
        found.update({page.row["id"]: by_name[page.row["html"]] for page in pages})
    rows = [page.row for _, pages in folders for page in pages]
    texts = {key: line["text"] for key, line in found.items()}
    return {
        **last,
        **mean_scores(rows, texts, kinds),
        **speed([line["cpu_s"] for line in found.values()]),
        "errors": errors,
    }


def peer_facts(folders: list) -> dict[str, dict]:
    """Return the facts that trafilatura reads from every page with gold facts."""
    found: dict[str, dict] = {}
    for folder, pages in folders:
        known = [page.row for page in pages if page.row["source"].startswith(FACTS)]
        names = [f"{row['html']}\t{row['url'] or ''}" for row in known]
        lines = run_peer("extract/extract_metadata.py", [], folder, names, "extractors") if known else []
        if not isinstance(lines, int):
            by_name = {line["name"]: line for line in lines if "name" in line}
            found.update({row["id"]: by_name[row["html"]] for row in known})
    return found


def score_facts(rows: list, found: dict[str, dict]) -> dict:
    """Return for each fact the number of pages that have it, and how many were read rightly, letter by letter, and not
    at all.
    """
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("title", "author", "date")}
    for row in rows:
        for name, count in counts.items():
            stated = (row.get("meta") or {}).get(name) if row["source"].startswith(FACTS) else None
            gold = "; ".join(stated) if isinstance(stated, list) else stated
            if gold:
                text = found.get(row["id"], {}).get(name, "")
                count.update(
                    pages=1,
                    right=scoring.bag(text) == scoring.bag(gold),
                    exact=text.strip() == gold.strip(),
                    missing=not text,
                )
    return {name: dict(count) for name, count in counts.items() if count}


def mean_scores(gold: list, texts: dict, kinds: dict) -> dict:
    """Return mean scores by source, of full texts, of snippets, of posts, and of pages that are not articles."""
    by: dict[str, list[scoring.Score]] = defaultdict(list)
    snippets = other = scoring.Snippets(0, 0, 0)
    posts = scoring.Posts(0, 0, 0, 0)
    for row in gold:
        text, article = texts[row["id"]], kinds[row["id"]] in {"article", "page"}
        if row["kind"] == "snippets":
            counts = scoring.snippets(text, row["with"], row["without"])
            snippets = snippets.plus(counts)
            if not article:
                other = other.plus(counts)
        elif row["kind"] != "leading_text" and scoring.bag(row["gold_text"]):
            score = scoring.words(text, row["gold_text"])
            kind = row["kind"] if row["kind"] in {"posts", "documentation"} else None
            whole = [kind or "full_text"] if row["source"] not in REFERENCE else []
            for key in (row["source"], *whole):
                by[key].append(score)
            if row["kind"] == "posts":
                posts = posts.plus(scoring.posts(text, row["parts"]))
            elif not article and not kind:
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
    sets = {name: means.pop(name) for name in ("full_text", "documentation", "posts") if name in means}
    if posts.posts:
        sets["posts"].update(posts._asdict())
    return {**sets, **pooled, "by_source": means}


def rounded(score: scoring.Score) -> dict[str, float]:
    """Return the score with four decimals."""
    return {name: round(value, 4) for name, value in score._asdict().items()}


def speed(costs: list[float]) -> dict:
    """Return pages a second on one core, and the median of a page in milliseconds, from bytes to text."""
    return {"docs_s_core": round(len(costs) / sum(costs), 1), "median_ms": round(1000 * median(costs), 2)}


if __name__ == "__main__":
    main()
