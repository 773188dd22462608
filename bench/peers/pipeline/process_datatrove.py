"""Run datatrove from a WARC file to documents, with WarcReader, Trafilatura and JsonlWriter in one worker.

usage: process_datatrove.py --warc FILE [--timeout S]

Nothing is filtered. A page has `--timeout` seconds in the extractor (1, as FineWeb has it). Prints one JSON line: CPU
of this process and of its children (the extractor runs in one), documents read and written.
"""

import argparse
import json
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.extractors import Trafilatura
from datatrove.pipeline.readers import WarcReader
from datatrove.pipeline.writers import JsonlWriter
from loguru import logger

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.peers.costs import cpu_s, peak_mb


def main() -> None:
    """Run, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--warc", type=Path, required=True)
    parser.add_argument("--timeout", type=float, default=1)
    args = parser.parse_args()
    logger.remove()
    warc = args.warc.resolve()
    with tempfile.TemporaryDirectory() as directory:
        pipeline = [
            WarcReader(str(warc.parent), glob_pattern=warc.name),
            Trafilatura(favour_precision=True, timeout=args.timeout),
            JsonlWriter(f"{directory}/documents"),
        ]
        begun, cpu = time.perf_counter(), cpu_s()
        stats = LocalPipelineExecutor(pipeline, tasks=1, workers=1, logging_dir=f"{directory}/logs").run()
        wall, cpu = time.perf_counter() - begun, cpu_s() - cpu
        read, _, written = (step.stats for step in stats.stats)
    documents = int(read["documents"].total)
    print(
        json.dumps(
            {
                "peer": "datatrove",
                "version": f"datatrove {version('datatrove')}, trafilatura {version('trafilatura')}",
                "documents": documents,
                "written": int(written["total"].total),
                "cpu_s": round(cpu, 2),
                "docs_s_core": round(documents / cpu, 1),
                "wall_s": round(wall, 2),
                "peak_rss_mb": peak_mb(),
            }
        )
    )


if __name__ == "__main__":
    main()
