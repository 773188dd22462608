"""Find repeated text among texts with another tool, on one core.

usage: cut_peers.py datatrove|pydivsufsort --texts FILE.jsonl

FILE.jsonl has one object with `text` and `id` a line. datatrove removes spans of three sentences that occurred before
(its three stages of sentence dedup, from the texts to the texts that stay). pydivsufsort sorts the suffixes of all
texts in memory, and marks the bytes of repeats of at least 300 bytes, which is what 50 words of English take: the
method of Lee et al. 2021. Prints one JSON line: CPU seconds without imports, and the largest resident memory.
"""

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.peers.costs import cpu_s
from bench.peers.dedup.tool_choice import measure_tool

FEWEST_BYTES = 300


def _pydivsufsort(texts: Path) -> dict[str, float]:
    import numpy as np  # noqa: PLC0415 - one environment has one tool
    from pydivsufsort import divsufsort, kasai  # noqa: PLC0415 - one environment has one tool

    start = cpu_s()
    with texts.open(encoding="utf-8") as file:
        # Lines may break at other places in a copy, so white space is made equal.
        data = b"\0".join(" ".join(json.loads(line)["text"].split()).encode() for line in file)
    suffixes = divsufsort(data)
    lengths = kasai(data, suffixes)
    marks = np.zeros(len(data) + 1, np.int64)
    repeats = np.flatnonzero(lengths >= FEWEST_BYTES)
    for at, length in zip(suffixes[repeats + 1], lengths[repeats], strict=True):
        marks[at] += 1
        marks[at + length] -= 1
    repeated = int((np.cumsum(marks) > 0).sum())
    return {"cpu_s": round(cpu_s() - start, 2), "repeated_bytes": repeated}


def _datatrove(texts: Path) -> dict[str, float]:
    from datatrove.executor import LocalPipelineExecutor  # noqa: PLC0415 - one environment has one tool
    from datatrove.pipeline.dedup import (  # noqa: PLC0415 - one environment has one tool
        SentenceDedupFilter,
        SentenceDedupSignature,
        SentenceFindDedups,
    )
    from datatrove.pipeline.dedup.sentence_dedup import SentDedupConfig  # noqa: PLC0415 - see above
    from datatrove.pipeline.readers import JsonlReader  # noqa: PLC0415 - one environment has one tool
    from datatrove.pipeline.writers import JsonlWriter  # noqa: PLC0415 - one environment has one tool
    from datatrove.utils.hashing import HashConfig  # noqa: PLC0415 - one environment has one tool
    from loguru import logger  # noqa: PLC0415 - one environment has one tool

    logger.remove()
    config = SentDedupConfig(
        n_sentences=3,
        split_sentences=True,
        min_doc_words=50,
        hash_config=HashConfig(hash_fc="sha1", precision=64),
    )
    with tempfile.TemporaryDirectory() as work:
        reader = JsonlReader(str(texts.parent), glob_pattern=texts.name)
        stages = [
            [reader, SentenceDedupSignature(output_folder=f"{work}/signatures", config=config)],
            [
                SentenceFindDedups(
                    data_folder=f"{work}/signatures", output_folder=f"{work}/duplicates", config=config
                )
            ],
            [
                reader,
                SentenceDedupFilter(data_folder=f"{work}/duplicates", config=config),
                JsonlWriter(f"{work}/stay"),
            ],
        ]
        start = cpu_s()
        for number, pipeline in enumerate(stages):
            LocalPipelineExecutor(pipeline, tasks=1, workers=1, logging_dir=f"{work}/logs-{number}").run()
        return {"cpu_s": round(cpu_s() - start, 2)}


TOOLS = {"datatrove": _datatrove, "pydivsufsort": _pydivsufsort}


if __name__ == "__main__":
    measure_tool(TOOLS, __doc__)
