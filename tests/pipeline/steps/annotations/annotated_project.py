"""A processed project with a user's module of functions, and a pool that makes parts in the process of the test."""

import json
import shutil
import sys
from collections import deque
from contextlib import contextmanager

import pyarrow.parquet as pq
import pytest

from thresher import Project, ThresherError
from thresher.pipeline.engine.local.part_server import PartServer
from thresher.pipeline.engine.messages import SealPart
from thresher.pipeline.engine.part_store import PartStore
from thresher.pipeline.engine.task import NO_ITEM, ItemTracker, TaskFailure, TaskSuccess
from thresher.pipeline.open_project import OpenProject

MODULE = '''
import sys

CALLS = []


def length(documents):
    CALLS.append([each.external_id for each in documents])
    return [len(each.text) for each in documents]


class Labels:
    """Each instance counts its batches; `by` is an argument of the command."""

    VERSION = 1
    COLUMNS = {"words": "int32", "label": "string"}
    made = 0

    def __init__(self, by="1"):
        self.by = int(by)
        Labels.made += 1

    def __call__(self, documents):
        CALLS.append([each.external_id for each in documents])
        words = [len(each.text.split()) * self.by for each in documents]
        return {"label": ["long" if each > 9 else None for each in words], "words": words}


def shout(documents):
    return {"text": [[each.text.upper(), each.text.title()] if "7" in each.external_id else None for each in documents],
            "tone": ["loud" for _ in documents]}


shout.COLUMNS = {"text": __import__("pyarrow").list_(__import__("pyarrow").string()), "tone": "string"}


VOICE = "hushed"


def quiet(documents):
    return {"text": [f"{each.text} ({VOICE})" for each in documents]}


quiet.VERSION = 1


def short(documents):
    return [1]


def mixed(documents):
    return [each.text if "1" in each.external_id else 1 for each in documents]


def divided(documents):
    return [1 / (each.external_id != "d7") for each in documents]


def leaves(documents):
    sys.exit(3)


class Unmade:
    def __init__(self):
        raise OSError("no weights here")

    def __call__(self, documents):
        return []


VALUE = 3
'''
TOML = """[project]
contact = "mailto:test@example.org"
[filters]
preset = "none"
languages = []
rules = [{rule = "length", fewest_characters = 40}]
"""


def rows(count):
    """Yield documents; every fifth is too short to be kept."""
    for n in range(count):
        text = (
            f"Text {n}." if n % 5 == 0 else f"This is the text of number {n} about {'many ' * (n % 7)}things."
        )
        text += " Write to joe.smith@river-mill.org today." if n == 8 else ""
        yield {"id": f"d{n}", "url": f"https://example.org/{n}", "text": text}


@pytest.fixture(scope="session")
def processed_project(tmp_path_factory):
    """Twenty documents in two files, processed."""
    directory = tmp_path_factory.mktemp("annotated") / "project"
    project = Project.create(directory)
    (directory / "thresher.toml").write_text(TOML)
    project = Project(directory)
    every = list(rows(20))
    for name, part in (("one", every[:10]), ("two", every[10:])):
        path = directory / f"{name}.jsonl"
        path.write_text("".join(f"{json.dumps(row)}\n" for row in part))
        project.ingest("docs", path)
    project.process(workers=1)
    return directory


@pytest.fixture
def project(processed_project, tmp_path, monkeypatch):
    """A copy of the project, whose steps run in this process, with a module `mine` of its own."""
    directory = tmp_path / "project"
    shutil.copytree(processed_project, directory)
    (directory / "mine.py").write_text(MODULE)
    monkeypatch.setattr(OpenProject, "worker_pool", same_process_pool)
    monkeypatch.setattr(sys, "path", [*sys.path])
    sys.modules.pop("mine", None)
    yield Project(directory)
    sys.modules.pop("mine", None)


def annotations(project, annotation, source="docs"):
    """Return the rows of an annotation, in the order of the archive, without their digests."""
    paths = sorted((project.directory / "data" / "annotations" / annotation / source).glob("*.parquet"))
    rows = [row for path in paths for row in pq.read_table(path).to_pylist()]
    return [{name: value for name, value in row.items() if name != "text_digest"} for row in rows]


def table_bytes(project, annotation):
    """Return the bytes of the tables and the seals of an annotation, by name."""
    data = project.directory / "data"
    paths = [
        *(data / "annotations" / annotation).rglob("*.parquet"),
        *(data / "manifests" / "annotate" / annotation).rglob("*.json"),
    ]
    return {str(path.relative_to(data)): path.read_bytes() for path in paths}


class SameProcessPool:
    """Makes parts in this process, through the messages of a worker."""

    workers = 1

    def __init__(self):
        self.tasks = deque()

    def submit(self, task):
        self.tasks.append(task)

    def next_outcome(self):
        task = self.tasks.popleft()
        tracker = ItemTracker(type("Mark", (), {"value": NO_ITEM})())
        with PartServer(task.assignment(), most_bytes=1 << 30) as server:
            try:
                made = task.work(PartStore(server.respond), task.step, task.part, tracker)
            except ThresherError as error:
                return task, TaskFailure(error=error, detail="")
            lines = {output.name: output.rows for output in made.outputs}
            server.seal(SealPart(counts=dict(made.counts), rows=lines, work_cpu_s=0, cpu_s=0))
        sizes = {"bytes_read": 0, "bytes_written": 0, "rss": 0}
        return task, TaskSuccess(work_cpu_s=0, cpu_s=0, wall_s=0, **sizes)


@contextmanager
def same_process_pool(*_, **__):
    """Stand in for `OpenProject.worker_pool`."""
    yield SameProcessPool()
