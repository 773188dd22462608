"""What `annotate` costs beside the user's function, and that kills change no byte.

usage: python bench/filters/annotators.py [--texts 100000] [--workers 2] [--characters 1500]

Texts of random words are ingested and processed. Then three annotations are made by the command:

- `constant`: the function returns a number and looks at nothing, so its CPU time is that of the step;
- `edu`: the regressor of examples/annotate_education.py, with random vectors and a random head; its own CPU time is
  counted in each call;
- `killed`: the same, with the command killed (SIGKILL) five times, when 10, 30, 50, 70 and 90 % of the parts are
sealed, and typed again. Its tables must have the bytes of `edu`.

CPU times are those of the command and its workers, starts included. With `--scores N`, a table of N scores is indexed
and 1,000 documents are looked up in it instead, as `--table` does for each part. Prints one JSON line.
"""

import argparse
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from thresher import Project  # noqa: E402
from thresher.pipeline.steps.annotations.score_tables import ScorePlan, score_index  # noqa: E402

KILLED_AT = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Shares of the parts that are sealed when the command is killed."""
DIMENSIONS = 256
MODULE = """
import os
import time
from pathlib import Path

from annotate_education import Education


class Measured(Education):
    VERSION = 1

    def __call__(self, documents):
        before = time.process_time()
        found = super().__call__(documents)
        self.cpu_s = getattr(self, "cpu_s", 0.0) + time.process_time() - before
        Path(f"function-{os.getpid()}.txt").write_text(str(self.cpu_s))
        return found


def constant(documents):
    return [1.0] * len(documents)
"""
TOML = '[project]\ncontact = "mailto:bench@example.org"\n[filters]\npreset = "none"\nlanguages = []\n'


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--characters", type=int, default=1500)
    parser.add_argument("--scores", type=int, default=0)
    args = parser.parse_args()
    if args.scores:
        print(json.dumps(look_up(args.scores)))
        return
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        prepare(directory, args.texts, args.characters)
        workers = ("--workers", str(args.workers))
        constant = annotate(directory, "constant", "--with", "measured:constant", *workers)
        words = ["--with", "measured:Measured", *workers]
        for key, file in (("tokenizer", "tokenizer.json"), ("vectors", "vectors.npy"), ("head", "head.npy")):
            words += ["-a", f"{key}={file}"]
        edu = annotate(directory, "edu", *words)
        own_s = sum(float(path.read_text()) for path in directory.glob("function-*.txt"))
        kills = kill(directory, "killed", *words)
        again = annotate(directory, "killed", *words)
        line = {
            "texts": args.texts,
            "workers": args.workers,
            "parts": len(seals(directory, "edu")),
            "text_bytes": args.texts * args.characters,
            "constant": rounded(constant),
            "step_cpu_ms_a_document": round(1000 * constant["cpu_s"] / args.texts, 3),
            "edu": {**rounded(edu), "function_cpu_s": round(own_s, 1)},
            "edu_step_cpu_ms_a_document": round(1000 * (edu["cpu_s"] - own_s) / args.texts, 3),
            "table_bytes": sum(path.stat().st_size for path in tables(directory, "edu")),
            "kills": kills,
            "last_run": rounded(again),
            "same_bytes": digest(directory, "edu") == digest(directory, "killed"),
        }
    print(json.dumps(line))


def prepare(directory: Path, count: int, characters: int) -> None:
    """Make a project with so many processed texts, and the files of the regressor."""
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(5000)]
    (directory / "thresher.toml").write_text(TOML)
    (directory / "measured.py").write_text(MODULE)
    shutil.copy(ROOT / "examples" / "annotate_education.py", directory)
    with (directory / "texts.jsonl").open("w", encoding="utf-8") as file:
        for number in range(count):
            text = " ".join(draw.choices(words, k=characters // 5))[:characters]
            file.write(json.dumps({"id": str(number), "text": text}) + "\n")
    tokenizer = Tokenizer(WordLevel({word: at for at, word in enumerate(dict.fromkeys([*words, "?"]))}, "?"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(directory / "tokenizer.json"))
    numbers = np.random.default_rng(1)
    size = tokenizer.get_vocab_size()
    np.save(directory / "vectors.npy", numbers.normal(size=(size, DIMENSIONS)).astype(np.float32))
    np.save(directory / "head.npy", numbers.normal(size=DIMENSIONS + 1))
    project = Project(directory)
    project.ingest("docs", directory / "texts.jsonl")
    project.process(workers=2)


def look_up(count: int) -> dict[str, float]:
    """Index a table with so many scores, and look 1,000 documents up."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        table, start = Path(name) / "scores.parquet", "https://example.org/some/path/"
        fields: list[pa.Field[Any]] = [pa.field("url", pa.string()), pa.field("score", pa.float64())]
        schema = pa.schema(fields)
        with pq.ParquetWriter(table, schema) as writer:
            for first in range(0, count, 100_000):
                numbers = np.arange(first, min(first + 100_000, count))
                urls = pa.array([f"{start}{number}" for number in numbers])
                writer.write_table(pa.table([urls, pa.array(numbers.astype(np.float64))], schema=schema))
        before, cpu_s = own_memory(), time.process_time()
        with score_index(ScorePlan(annotation="score", table=table, key="url", column="url")) as index:
            indexed_s, grown = time.process_time() - cpu_s, own_memory() - before
            keys = [f"{start}{number}" for number in np.random.default_rng(1).integers(0, count, 1000)]
            cpu_s = time.process_time()
            for _ in range(20):
                index.take(index.find(keys)[1])
            looked_s = (time.process_time() - cpu_s) / 20
    return {
        "scores": count,
        "index_cpu_s": round(indexed_s, 1),
        "index_memory_mb": round(grown / 1e6),
        "look_up_cpu_ms_of_1000": round(1000 * looked_s, 1),
    }


def own_memory() -> int:
    """Return the bytes of this process that no file holds."""
    with Path("/proc/self/status").open(encoding="ascii") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon"))


def command(annotation: str, words: tuple[str, ...] | list[str]) -> list[str]:
    """Return the command line of an annotation."""
    return [sys.executable, "-m", "thresher", "annotate", annotation, *words]


def environment() -> dict[str, str]:
    """Return the environment of a command, with one thread for each library."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}


def annotate(directory: Path, annotation: str, *words: str) -> dict[str, float]:
    """Run the command, and return its CPU seconds, those of its workers included, and its wall time."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        command(annotation, words), cwd=directory, env=environment(), check=True, stdout=sys.stderr
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu_s": cpu_s, "wall_s": time.monotonic() - started}


def kill(directory: Path, annotation: str, *words: str) -> list[int]:
    """Kill the command five times. Return how many parts were sealed each time."""
    parts, sealed = len(seals(directory, "edu")), []
    for share in KILLED_AT:
        with subprocess.Popen(
            command(annotation, words), cwd=directory, env=environment(), stdout=sys.stderr
        ) as process:
            while len(seals(directory, annotation)) < share * parts:
                time.sleep(0.02)
            process.send_signal(signal.SIGKILL)
        sealed.append(len(seals(directory, annotation)))
    return sealed


def seals(directory: Path, annotation: str) -> list[Path]:
    """Return the Manifests of an annotation."""
    return sorted((directory / "data" / "manifests" / "annotate" / annotation).rglob("*.json"))


def tables(directory: Path, annotation: str) -> list[Path]:
    """Return the tables of an annotation, in the order of their parts."""
    return sorted((directory / "data" / "annotations" / annotation).rglob("*.parquet"))


def digest(directory: Path, annotation: str) -> str:
    """Return the digest of all tables of an annotation."""
    whole = hashlib.sha256()
    for path in tables(directory, annotation):
        whole.update(path.name.encode() + path.read_bytes())
    return whole.hexdigest()


def rounded(times: dict[str, float]) -> dict[str, float]:
    """Return seconds with one decimal."""
    return {key: round(value, 1) for key, value in times.items()}


if __name__ == "__main__":
    main()
