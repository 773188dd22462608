"""Run datatrove from a WARC file to tokens: FineWeb's chain, MinHash, `DocumentTokenizer`, one worker a stage.

usage: whole_datatrove.py --warc FILE --tokenizer FILE --lid FILE [--timeout S]

The chain: Trafilatura with `--timeout` seconds a page (1, as FineWeb has it), LanguageFilter, both Gopher filters, C4
with its edits and without the rule on final punctuation, FineWeb. MinHash has 14 bands of 8 rows over 5 words. Prints
one JSON line: CPU of this process and of its children, imports included, and what came out.
"""

import argparse
import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import (
    MinhashDedupBuckets,
    MinhashDedupCluster,
    MinhashDedupFilter,
    MinhashDedupSignature,
)
from datatrove.pipeline.extractors import Trafilatura
from datatrove.pipeline.filters import (
    C4QualityFilter,
    FineWebQualityFilter,
    GopherQualityFilter,
    GopherRepetitionFilter,
    LanguageFilter,
)
from datatrove.pipeline.readers import JsonlReader, WarcReader
from datatrove.pipeline.tokens import DocumentTokenizer
from datatrove.pipeline.writers import JsonlWriter
from datatrove.utils.lid import FT176LID
from loguru import logger

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.peers.costs import cpu_s, peak_mb
from bench.peers.dedup.minhash_config import BANDS, minhash_config


def main() -> None:
    """Run, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--warc", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--lid", type=Path, required=True)
    parser.add_argument("--timeout", type=float, default=1)
    args = parser.parse_args()
    logger.remove()
    FT176LID.MODEL_URL = str(args.lid.resolve())
    warc = args.warc.resolve()
    config = minhash_config()
    with tempfile.TemporaryDirectory() as work:
        kept = JsonlReader(f"{work}/kept")
        stages = (
            (
                1,
                [
                    WarcReader(str(warc.parent), glob_pattern=warc.name),
                    Trafilatura(favour_precision=True, timeout=args.timeout),
                    LanguageFilter("en"),
                    GopherRepetitionFilter(),
                    GopherQualityFilter(),
                    C4QualityFilter(filter_no_terminal_punct=False),
                    FineWebQualityFilter(),
                    JsonlWriter(f"{work}/kept"),
                ],
            ),
            (1, [kept, MinhashDedupSignature(output_folder=f"{work}/signatures", config=config)]),
            (BANDS, [MinhashDedupBuckets(f"{work}/signatures", f"{work}/buckets", config=config)]),
            (1, [MinhashDedupCluster(f"{work}/buckets", f"{work}/removed", config=config)]),
            (1, [kept, MinhashDedupFilter(f"{work}/removed"), JsonlWriter(f"{work}/unique")]),
            (
                1,
                [
                    JsonlReader(f"{work}/unique"),
                    DocumentTokenizer(
                        f"{work}/tokens",
                        local_working_dir=f"{work}/local",
                        tokenizer_name_or_path=str(args.tokenizer.resolve()),
                        eos_token=None,
                    ),
                ],
            ),
        )
        stats = [
            LocalPipelineExecutor(pipeline, tasks=tasks, workers=1, logging_dir=f"{work}/logs/{number}").run()
            for number, (tasks, pipeline) in enumerate(stages)
        ]
    cpu = cpu_s()
    read, tokens = stats[0].stats[0].stats, stats[-1].stats[-1].stats
    print(
        json.dumps(
            {
                "peer": f"datatrove {version('datatrove')}, trafilatura {version('trafilatura')}",
                "records": int(read["documents"].total),
                "filtered_to": int(stats[0].stats[-1].stats["total"].total),
                "documents": int(stats[-1].stats[0].stats["documents"].total),
                "tokens": int(tokens["tokens"].total),
                "cpu_s": round(cpu, 2),
                "rss_mb": peak_mb(),
            }
        )
    )


if __name__ == "__main__":
    main()
