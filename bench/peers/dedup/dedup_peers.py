"""Find near duplicates among texts with another tool, on one core: 14 bands of 8 rows, shingles of five words.

usage: dedup_peers.py datatrove|datasketch --texts FILE.jsonl

FILE.jsonl has one object with `text` and `id` a line. datatrove runs its four stages, from the texts to the texts that
stay. datasketch makes a MinHash of each text, and puts it into MinHashLSH in memory if that has no match. Prints one
JSON line: CPU seconds without imports, documents that are removed, and the largest resident memory.
"""

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.peers.costs import cpu_s
from bench.peers.dedup.tool_choice import measure_tool

BANDS, ROWS, WORDS = 14, 8, 5


def _datasketch(texts: Path) -> dict[str, float]:
    from datasketch import MinHash, MinHashLSH  # noqa: PLC0415 - one environment has one tool

    start, removed = cpu_s(), 0
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
    return {"cpu_s": round(cpu_s() - start, 2), "removed": removed}


def _datatrove(texts: Path) -> dict[str, float]:
    from datatrove.executor import LocalPipelineExecutor  # noqa: PLC0415 - one environment has one tool
    from datatrove.pipeline.dedup import (  # noqa: PLC0415 - one environment has one tool
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
        MinhashDedupSignature,
    )
    from datatrove.pipeline.readers import JsonlReader  # noqa: PLC0415 - one environment has one tool
    from datatrove.pipeline.writers import JsonlWriter  # noqa: PLC0415 - one environment has one tool
    from loguru import logger  # noqa: PLC0415 - one environment has one tool

    from bench.peers.dedup.minhash_config import minhash_config  # noqa: PLC0415 - it needs datatrove

    logger.remove()
    config = minhash_config()
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
        whole = cpu_s()
        for name, (tasks, pipeline) in stages.items():
            start = cpu_s()
            stats = LocalPipelineExecutor(
                pipeline, tasks=tasks, workers=1, logging_dir=f"{work}/logs-{name}"
            ).run()
            found[f"{name}_s"] = round(cpu_s() - start, 2)
        found["removed"] = int(stats.stats[1].stats["dropped"].total)
        return {"cpu_s": round(cpu_s() - whole, 2), **found}


TOOLS = {"datasketch": _datasketch, "datatrove": _datatrove}


if __name__ == "__main__":
    measure_tool(TOOLS, __doc__)
