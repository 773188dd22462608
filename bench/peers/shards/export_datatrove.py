"""Run datatrove's `DocumentTokenizer` or a writer over documents, with JsonlReader, in one worker.

usage: export_datatrove.py --texts FILE.jsonl (--tokenizer FILE | --write jsonl|parquet)

FILE.jsonl has one object with `text` and `id` a line. What is written is in Zstandard. Prints one JSON line: CPU of
this process and of its children, start included, documents and tokens, bytes written, and the largest resident memory.
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
from datatrove.pipeline.writers import JsonlWriter, ParquetWriter
from loguru import logger

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.peers.costs import cpu_s, peak_mb


def main() -> None:
    """Run, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=Path, required=True)
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--tokenizer", type=Path)
    wanted.add_argument("--write", choices=["jsonl", "parquet"])
    args = parser.parse_args()
    logger.remove()
    texts = args.texts.resolve()
    with tempfile.TemporaryDirectory() as directory:
        out = f"{directory}/out"
        if args.write == "jsonl":
            writer = JsonlWriter(out, compression="zstd")
        elif args.write == "parquet":
            writer = ParquetWriter(out, compression="zstd")
        else:
            writer = DocumentTokenizer(
                out,
                local_working_dir=f"{directory}/work",
                tokenizer_name_or_path=str(args.tokenizer.resolve()),
                eos_token="<|endoftext|>",
            )
        pipeline = [JsonlReader(str(texts.parent), glob_pattern=texts.name), writer]
        stats = LocalPipelineExecutor(pipeline, tasks=1, workers=1, logging_dir=f"{directory}/logs").run()
        read, written = (step.stats for step in stats.stats)
        size = sum(path.stat().st_size for path in Path(out).rglob("*") if path.is_file())
    cpu = cpu_s()
    documents = int(read["documents"].total)
    tokens = 0 if args.write else int(written["tokens"].total)
    print(
        json.dumps(
            {
                "peer": f"datatrove {version('datatrove')}",
                "documents": documents,
                "tokens": tokens,
                "written": args.write or "tokens",
                "shard_mb": round(size / 1e6, 3),
                "cpu_s": round(cpu, 2),
                "cpu_ms_document": round(cpu / documents * 1000, 4),
                "documents_s_core": round(documents / cpu, 1),
                "mtokens_s_core": round(tokens / cpu / 1e6, 3),
                "rss_mb": peak_mb(),
            }
        )
    )


if __name__ == "__main__":
    main()
