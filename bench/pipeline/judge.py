"""Documents per CPU second that `judge` decides, beside `process` over the same records.

usage: python bench/pipeline/judge.py --warc FILE [--preset fineweb] [--languages en] [--repeat 20]

One process, one thread. The file is processed once, and every part is judged `--repeat` times with another threshold.
Bytes are those of the new set beside those of the documents. Prints one JSON line.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.pipeline.process import cpu_seconds, empty_part, make_part
from thresher.isolation.shared_int import SharedInt
from thresher.pipeline.configuration import FiltersConfig
from thresher.pipeline.engine.local.part_server import PartServer
from thresher.pipeline.engine.local.worker_pool import local_worker_pool
from thresher.pipeline.engine.part_store import PartStore
from thresher.pipeline.engine.run_step import run_step
from thresher.pipeline.engine.task import NO_ITEM, ItemTracker, Task
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.steps import process
from thresher.pipeline.steps.judging import judge_step
from thresher.pipeline.steps.records.rule_set import RuleSet, rule_set
from thresher.pipeline.steps.verdicts.verdict_sets import outputs_by_folder
from thresher.pipeline.terminal.progress import SilentProgress
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import manifests


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--warc", type=Path, required=True)
    parser.add_argument("--preset", default="fineweb")
    parser.add_argument("--languages", default="en")
    parser.add_argument("--repeat", type=int, default=20)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        files = DirectoryStore(Path(directory) / "data")
        ingest(files, "bench", locate_inputs([args.warc]))
        filters = FiltersConfig(preset=args.preset, languages=tuple(args.languages.split(",")))
        step, parts = process.step(filters), list(process.parts(files, "bench", filters))
        make_part(files, step, empty_part(parts[0]))  # loads what a process loads once
        cpu = cpu_seconds()
        for part in parts:
            make_part(files, step, part)
        processing = cpu_seconds() - cpu
        with local_worker_pool(1) as pool:
            run_step(files, step, parts, process.work, pool=pool, progress=SilentProgress())
        tables = [outputs_by_folder(made) for made in manifests(files, "process")]
        records = sum(each["verdicts"].rows for each in tables)
        chosen = rule_set(replace(filters, thresholds={"gopher_quality.fewest_words": 30}))
        judging = judge(files, chosen, "warm")
        cpu = cpu_seconds()
        for number in range(args.repeat):
            judging = judge(files, chosen, f"set-{number}")
        judged_cpu = (cpu_seconds() - cpu) / args.repeat
        documents = sum(each["documents"].bytes for each in tables)
    result = {
        "bench": "judge",
        "records": records,
        "cpu_ms": round(1000 * judged_cpu, 1),
        "records_s_core": round(records / judged_cpu),
        "over_process": round(processing / judged_cpu, 1),
        "set_over_documents": round(judging / documents, 3),
    }
    print(json.dumps(result))


def judge(files: DirectoryStore, chosen: RuleSet, name: str) -> int:
    """Judge every part in this process, and return the bytes of the set."""
    step = judge_step.step(chosen)
    size = 0
    for part in judge_step.parts(files, "bench", name, chosen):
        task = Task(store=files, step=step, part=part, work=judge_step.work)
        with PartServer(task.assignment(), most_bytes=1 << 40) as server:
            tracker = ItemTracker(SharedInt.create(NO_ITEM))
            made = judge_step.work(PartStore(server.respond), step, part, tracker)
            size += sum(output.bytes for output in made.outputs)
    return size


if __name__ == "__main__":
    main()
