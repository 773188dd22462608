"""Run datatrove's `DocumentTokenizer` over documents, with JsonlReader, in one worker.

usage: export_datatrove.py --texts FILE.jsonl --tokenizer FILE

FILE.jsonl has one object with `text` and `id` a line. Prints one JSON line: CPU of this process and of its children,
start included, documents and tokens written, and the largest resident memory.
"""

import argparse
import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.tokens import DocumentTokenizer
from loguru import logger

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.peers.costs import cpu_s, peak_mb


def main() -> None:
    """Run, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    args = parser.parse_args()
    logger.remove()
    texts = args.texts.resolve()
    with tempfile.TemporaryDirectory() as directory:
        pipeline = [
            JsonlReader(str(texts.parent), glob_pattern=texts.name),
            DocumentTokenizer(
                f"{directory}/tokens",
                local_working_dir=f"{directory}/work",
                tokenizer_name_or_path=str(args.tokenizer.resolve()),
                eos_token="<|endoftext|>",
            ),
        ]
        stats = LocalPipelineExecutor(pipeline, tasks=1, workers=1, logging_dir=f"{directory}/logs").run()
        read, written = (step.stats for step in stats.stats)
    cpu = cpu_s()
    documents, tokens = int(read["documents"].total), int(written["tokens"].total)
    print(
        json.dumps(
            {
                "peer": f"datatrove {version('datatrove')}",
                "documents": documents,
                "tokens": tokens,
                "cpu_s": round(cpu, 2),
                "documents_s_core": round(documents / cpu, 1),
                "mtokens_s_core": round(tokens / cpu / 1e6, 3),
                "rss_mb": peak_mb(),
            }
        )
    )


if __name__ == "__main__":
    main()
