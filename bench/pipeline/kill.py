"""Kill every process of the main job with SIGKILL at five stages, and run the job again.

usage: python bench/pipeline/kill.py --dir DIR --tokenizer FILE --seed URL [--seed URL ...] [STAGE ...]

The sites must be up (`python bench/crawler/sites.py`). The first run is undisturbed. Then each stage gets a new
project, a kill when the stage is reached, and the same command again. Prints one JSON line per stage: how much was
archived more than once, and whether pages, texts and tokens are those of the undisturbed run.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
from warcio.archiveiterator import ArchiveIterator

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.processes.process_tree import kill_tree
from bench.processes.waiting import is_reached

TOML = """
[project]
contact = "mailto:bench@example.org"
[crawler]
min_delay = 0
allow_networks = ["127.0.0.0/8"]
[filters]
preset = "none"     # more kept documents give more to compare
"""


def sealed(directory: Path, step: str) -> int:
    """Return the number of Manifests of a step."""
    return sum(1 for _ in (directory / "data" / "manifests" / step).rglob("*.json"))


def archived_bytes(directory: Path) -> int:
    """Return the bytes of WARC files, open ones included."""
    return sum(path.stat().st_size for path in (directory / "data" / "warc").rglob("*.warc.gz"))


STAGES: dict[str, Callable[[Path], bool]] = {
    "crawl-early": lambda directory: archived_bytes(directory) > 8e6,
    "crawl-late": lambda directory: archived_bytes(directory) > 30e6,
    "process": lambda directory: sealed(directory, "process") >= 2,
    "dedup": lambda directory: "dedup@1" in (directory / "log").read_text() or sealed(directory, "dedup") > 0,
    "export": lambda directory: (directory / "out" / "recipe.json").exists(),
}


def main() -> None:
    """Run, kill, run again, compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stages", nargs="*", default=list(STAGES), metavar="STAGE", help=", ".join(STAGES))
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--seed", action="append", required=True)
    args = parser.parse_args()
    if unknown := sorted(set(args.stages) - STAGES.keys()):
        parser.error(f"no stage is called {', '.join(unknown)}: choose from {', '.join(STAGES)}")
    tokenizer = str(args.tokenizer.absolute())
    words = [
        "run",
        "seeds.txt",
        "--out",
        "out",
        "--tokenizer",
        tokenizer,
        "--scope",
        "host",
        "--workers",
        "2",
    ]
    command = [sys.executable, "-m", "thresher", *words, "--json"]
    undisturbed = project(args.dir / "undisturbed", args.seed)
    run_again(command, undisturbed)
    expected = set(archived_urls(undisturbed)), dataset(undisturbed)
    for stage in args.stages:
        directory = project(args.dir / stage, args.seed)
        begun = time.monotonic()
        processes = kill_at_stage(command, directory, STAGES[stage])
        at = time.monotonic() - begun
        result = run_again(command, directory)
        pages, documents = archived_urls(directory), dataset(directory)
        stages = result["funnel"]["stages"]
        line = {
            "bench": "kill",
            "stage": stage,
            "killed_after_s": round(at, 1),
            "processes_killed": processes,
            "pages": len(pages),
            "archived_again": pages.total() - len(pages),
            "same_pages": set(pages) == expected[0],
            "documents": len(documents),
            "tokens": result["dataset"]["tokens"],
            "same_texts_and_tokens": documents == expected[1],
            "funnel_adds_up": sum(stage["documents"] for stage in stages) == result["funnel"]["records"],
        }
        print(json.dumps(line), flush=True)


def project(directory: Path, seeds: list[str]) -> Path:
    """Make a new project."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    (directory / "thresher.toml").write_text(TOML)
    (directory / "seeds.txt").write_text("\n".join(seeds))
    return directory


def kill_at_stage(command: list[str], directory: Path, reached: Callable[[Path], bool]) -> int:
    """Start the job, and kill every process of it when the stage is reached. Return how many."""
    with (directory / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=directory, stdout=log, stderr=log, start_new_session=True)
    if not is_reached(process, lambda: reached(directory)):
        raise SystemExit(f"{directory}: the job ended before the stage was reached")
    return kill_tree(process)


def run_again(command: list[str], directory: Path) -> dict:
    """Run the same command to its end, and return its JSON."""
    with (directory / "log").open("a") as log:
        return json.loads(subprocess.check_output(command, cwd=directory, stderr=log, text=True))


def archived_urls(directory: Path) -> Counter[str]:
    """Count responses with status 200 by URL, without robots.txt, which a crawl may request again."""
    return Counter(url for url in ok_responses(directory) if not url.endswith("/robots.txt"))


def ok_responses(directory: Path) -> Iterator[str]:
    """Yield the URL of every such response, with an independent reader."""
    for path in (directory / "data" / "warc").rglob("*.warc.gz"):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if (
                    record.rec_type in {"response", "revisit"}
                    and record.http_headers.get_statuscode() == "200"
                ):
                    yield record.rec_headers.get_header("WARC-Target-URI")


def dataset(directory: Path) -> list[tuple[str, str, tuple[int, ...]]]:
    """Return the rows that a trainer would read, sorted."""
    shards = sorted((directory / "out").glob("data/shard-*.parquet"))
    rows = (row for shard in shards for row in pq.read_table(shard).to_pylist())
    return sorted((row["url"], row["text"], tuple(row["input_ids"])) for row in rows)


if __name__ == "__main__":
    main()
