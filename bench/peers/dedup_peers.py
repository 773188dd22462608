"""Find near duplicates among texts with another tool, on one core: 14 bands of 8 rows, shingles of five words.

usage: dedup_peers.py datatrove|datasketch --texts FILE.jsonl

FILE.jsonl has one object with `text` and `id` a line. datatrove runs its four stages, from the texts to the texts that
stay. datasketch makes a MinHash of each text, and puts it into MinHashLSH in memory if that has no match. Prints one
JSON line: CPU seconds without imports, documents that are removed, and the largest resident memory.
"""

import argparse
import json
import resource
import tempfile
from importlib.metadata import version
from pathlib import Path

from memory import peak_mb

BANDS, ROWS, WORDS = 14, 8, 5


def main() -> None:
    """Find the duplicates, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tool", choices=sorted(TOOLS))
    parser.add_argument("--texts", type=Path, required=True)
    args = parser.parse_args()
    found = TOOLS[args.tool](args.texts.resolve())
    print(json.dumps({"peer": f"{args.tool} {version(args.tool)}", **found, "rss_mb": peak_mb()}))


def cpu() -> float:
    """Return the CPU seconds of this process and its children."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _datasketch(texts: Path) -> dict[str, float]:
    from datasketch import MinHash, MinHashLSH  # noqa: PLC0415 - one environment has one tool

    start, removed = cpu(), 0
    index = MinHashLSH(num_perm=BANDS * ROWS, params=(BANDS, ROWS))
    with texts.open(encoding="utf-8") as file:
        for number, line in enumerate(file):
            words = json.loads(line)["text"].split()
            sketch = MinHash(num_perm=BANDS * ROWS, seed=1)
            sketch.update_batch(
                [" ".join(words[at : at + WORDS]).encode() for at in range(len(words) - WORDS + 1)]
            )
            if index.query(sketch):
                removed += 1
            else:
                index.insert(number, sketch, check_duplication=False)
    return {"cpu_s": round(cpu() - start, 2), "removed": removed}


def _datatrove(texts: Path) -> dict[str, float]:
    from datatrove.executor import LocalPipelineExecutor  # noqa: PLC0415 - one environment has one tool
    from datatrove.pipeline.dedup import (  # noqa: PLC0415 - one environment has one tool
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
        MinhashDedupSignature,
    )
    from datatrove.pipeline.dedup.minhash import MinhashConfig  # noqa: PLC0415 - one environment has one tool
    from datatrove.pipeline.readers import JsonlReader  # noqa: PLC0415 - one environment has one tool
    from datatrove.pipeline.writers import JsonlWriter  # noqa: PLC0415 - one environment has one tool
    from datatrove.utils.hashing import HashConfig  # noqa: PLC0415 - one environment has one tool
    from loguru import logger  # noqa: PLC0415 - one environment has one tool

    logger.remove()
    config = MinhashConfig(
        n_grams=WORDS,
        num_buckets=BANDS,
        hashes_per_bucket=ROWS,
        hash_config=HashConfig(hash_fc="sha1", precision=64),
    )
    with tempfile.TemporaryDirectory() as work:
        reader = (str(texts.parent),)
        stages = {
            "signature": (
                1,
                [
                    JsonlReader(*reader, glob_pattern=texts.name),
                    MinhashDedupSignature(output_folder=f"{work}/signatures", config=config),
                ],
            ),
            "buckets": (
                BANDS,
                [
                    MinhashDedupBuckets(
                        input_folder=f"{work}/signatures", output_folder=f"{work}/buckets", config=config
                    )
                ],
            ),
            "cluster": (
                1,
                [
                    MinhashDedupCluster(
                        input_folder=f"{work}/buckets", output_folder=f"{work}/remove", config=config
                    )
                ],
            ),
            "filter": (
                1,
                [
                    JsonlReader(*reader, glob_pattern=texts.name),
                    MinhashDedupFilter(input_folder=f"{work}/remove"),
                    JsonlWriter(f"{work}/stay"),
                ],
            ),
        }
        found: dict[str, float] = {}
        whole = cpu()
        for name, (tasks, pipeline) in stages.items():
            start = cpu()
            stats = LocalPipelineExecutor(
                pipeline, tasks=tasks, workers=1, logging_dir=f"{work}/logs-{name}"
            ).run()
            found[f"{name}_s"] = round(cpu() - start, 2)
        found["removed"] = int(stats.stats[1].stats["dropped"].total)
        return {"cpu_s": round(cpu() - whole, 2), **found}


TOOLS = {"datasketch": _datasketch, "datatrove": _datatrove}


if __name__ == "__main__":
    main()
