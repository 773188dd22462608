"""Documents per CPU second from WARC to verdicts, and the share of extraction.

usage: python bench/pipeline/process.py [--warc FILE] [--preset fineweb] [--languages en] [--peer datatrove]

Without --warc it crawls the demo's web first. One process, one thread, every record of the file. CPU is user + system
time of that process, after the language model and the extractor are loaded. The same run also measures, over the same
records: from WARC to documents alone, with early verdicts; and the floor (FastWARC reads, resiliparse extracts the main
content, and nothing is judged). --peer then runs datatrove's reader and extractor (`bench/peers`) on the same file.
Prints one JSON line.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from fastwarc.warc import ArchiveIterator, WarcRecordType
from resiliparse.extract.html2text import extract_plain_text

from bench.peers import environments
from thresher.extract.record_document import extract_document
from thresher.isolation.shared_int import SharedInt
from thresher.pipeline.configuration import FiltersConfig
from thresher.pipeline.engine.local.part_server import PartServer
from thresher.pipeline.engine.part_store import PartStore
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.engine.task import NO_ITEM, ItemTracker, PartOutputs, Task
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.steps import process
from thresher.pipeline.steps.language_precheck import language_precheck
from thresher.pipeline.steps.records import page_records
from thresher.pipeline.steps.records.rare_collection import rare_collection
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import Input
from thresher.storage.warc.records import read_records


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--warc", type=Path)
    parser.add_argument("--preset", default="fineweb")
    parser.add_argument("--languages", default="en")
    parser.add_argument("--peer", choices=["datatrove"])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        root, ratios = Path(directory), {}
        warc = args.warc or demo_warc(root)
        files = DirectoryStore(root / "data")
        ingest(files, "bench", locate_inputs([warc]))
        filters = FiltersConfig(preset=args.preset, languages=tuple(args.languages.split(",")))
        step = process.step(filters)
        parts = list(process.parts(files, "bench", filters))
        make_part(files, step, empty_part(parts[0]))  # loads what a process loads once
        wall, cpu = time.perf_counter(), cpu_seconds()
        counts: dict[str, int] = {}
        resident: list[float] = []
        for part in parts:
            for key, value in make_part(files, step, part).counts.items():
                counts[key] = counts.get(key, 0) + value
            resident.append(rss_mb())
        wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
        records = sum(value for key, value in counts.items() if key.endswith(".documents"))
        kept = counts.get("keep.documents", 0)
        payload = sum(value for key, value in counts.items() if key.endswith(".payload_bytes"))
        extraction = cpu_time(lambda: documents_alone(warc, filters.languages))
        floor = cpu_time(lambda: floor_alone(warc))
        if args.peer:
            command = environments.command("pipeline/process_datatrove.py", "datatrove")
            output = subprocess.check_output([*command, "--warc", str(warc)], text=True)
            peer = json.loads(output.splitlines()[-1])
            ratios = {
                "peer": peer,
                "ours_over_peer": round(records / cpu / peer["docs_s_core"], 2),
                "documents_over_peer": round(records / extraction / peer["docs_s_core"], 2),
            }
    result: dict[str, object] = {
        "bench": "process",
        "records": records,
        "kept": kept,
        "payload_mb": round(payload / 1e6, 1),
        "wall_s": round(wall, 2),
        "cpu_s": round(cpu, 2),
        "docs_s_core": round(records / cpu, 1),
        "documents_cpu_s": round(extraction, 2),
        "documents_s_core": round(records / extraction, 1),
        "documents_over_floor": round(extraction / floor, 2),
        "extraction_share": round(extraction / cpu, 3),
        "floor_cpu_s": round(floor, 2),
        "over_floor": round(cpu / floor, 1),
        "rss_mb": {f"{share:.0%}": resident[int((len(resident) - 1) * share)] for share in (0, 0.25, 0.5, 1)},
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }
    print(json.dumps(result | ratios))


def demo_warc(root: Path) -> Path:
    """Return a WARC file of the demo's web."""
    project = root / "crawl"
    crawl = Path(__file__).resolve().parents[2] / "bench/crawler/crawl.py"
    subprocess.run(
        [sys.executable, str(crawl), "--keep", str(project)], check=True, stdout=subprocess.DEVNULL
    )
    return max((project / "data" / "warc").rglob("*.warc.gz"), key=lambda path: path.stat().st_size)


def make_part(files: DirectoryStore, step: Step, part: Part) -> PartOutputs:
    """Make a part in this process."""
    task = Task(store=files, step=step, part=part, work=process.work)
    with PartServer(task.assignment(), most_bytes=1 << 40) as server:
        return process.work(PartStore(server.respond), step, part, ItemTracker(SharedInt.create(NO_ITEM)))


def empty_part(part: Part) -> Part:
    """Return the part without any record."""
    (span,) = part.inputs
    return replace(part, inputs=(Input(name=span.name, sha256=span.sha256, first=0, end=0),))


def documents_alone(warc: Path, languages: tuple[str, ...]) -> None:
    """Read from WARC to documents, with early verdicts and without rules."""
    precheck = partial(language_precheck, languages)
    with warc.open("rb") as file, rare_collection():
        for record in read_records(file, name=str(warc)):
            if record.type == "response" and page_records.pageless_reason(record) is None:
                extract_document(record, "bench", language_precheck=precheck)


def floor_alone(warc: Path) -> None:
    """Do the least that any pipeline does."""
    with warc.open("rb") as stream:
        for record in ArchiveIterator(stream, record_types=WarcRecordType.response, parse_http=True):
            extract_plain_text(record.reader.read().decode("utf-8", "replace"), main_content=True)


def rss_mb() -> float:
    """Return the resident memory of this process, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return round(pages * resource.getpagesize() / 1e6, 1)


def cpu_time(work: object) -> float:
    """Return the CPU seconds of a call."""
    begun = cpu_seconds()
    work()  # type: ignore[operator]
    return cpu_seconds() - begun


def cpu_seconds() -> float:
    """Return user and system time of this process, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
