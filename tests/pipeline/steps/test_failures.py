"""An exception while one record is read costs that record, with a reason that names the step; never the part or the file."""

import json
import logging
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from tests.expect import expect
from tests.storage import dumps
from tests.storage.made_inputs import ROWS, tarred
from tests.storage.made_inputs import delimited as csv_of
from tests.storage.made_inputs import jsonl as jsonl_of
from tests.storage.made_inputs import parquet as parquet_of
from thresher.core import CorruptData, Document
from thresher.extract.record_document import extract_document
from thresher.isolation.shared_int import SharedInt
from thresher.pipeline.configuration import FiltersConfig
from thresher.pipeline.engine.local.part_server import PartServer
from thresher.pipeline.engine.messages import SealPart
from thresher.pipeline.engine.part_store import PartStore
from thresher.pipeline.engine.task import NO_ITEM, ItemTracker, Task
from thresher.pipeline.inputs.ingest import IngestOptions, ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.steps import process
from thresher.pipeline.steps.records import process_records, signature_rows
from thresher.storage import tables
from thresher.storage.commoncrawl import index_facts
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.inputs import origin, tar, text_files
from thresher.storage.inputs.dumps import stackexchange, wikipedia
from thresher.storage.inputs.table_files import arrow, columns, delimited, jsonl_rows
from thresher.storage.warc import records

FILTERS = FiltersConfig(preset="none", languages=())
POISON = "POISON"
NUMBERS = range(5)


class Unforeseen(Exception):
    """What nobody thought of."""


def poisoned(function):
    """The function, which fails on whatever has the word in it."""

    def made(*arguments, **named):
        if POISON in repr((arguments, named)):
            raise Unforeseen(f"of \x1b[31m{POISON}")
        return function(*arguments, **named)

    return made


@pytest.fixture
def files(tmp_path):
    """A storage with a source of five pages, one of which has the word in it."""
    rows = [
        {
            "url": f"http://x.test/{POISON if number == 2 else number}",
            "html": f"<html><body><p>{POISON if number == 2 else ''} The page number {number} is about rivers that run to the sea.</p></body></html>",
        }
        for number in NUMBERS
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    store = DirectoryStore(tmp_path / "data")
    assert ingest(store, "s", locate_inputs([path])).entries == len(rows)
    return store


def made(store):
    """What the step makes of the source, in this process: counts and verdicts."""
    (part,) = process.parts(store, "s", FILTERS)
    task = Task(store=store, step=process.step(FILTERS), part=part, work=process.work)
    with PartServer(task.assignment(), most_bytes=1 << 30) as server:
        found = process.work(
            PartStore(server.respond), task.step, part, ItemTracker(SharedInt.create(NO_ITEM))
        )
        rows = {output.name: output.rows for output in found.outputs}
        outputs = server.seal(SealPart(counts=dict(found.counts), rows=rows, work_cpu_s=0, cpu_s=0))
    verdicts = next(each for each in outputs if each.name.startswith("verdicts/"))
    return found.counts, tables.read(store, verdicts, tables.VERDICTS).to_pylist()


@pytest.mark.parametrize(
    ("where", "function", "step"),
    [
        (process_records, "_payload_bytes", "record"),
        (process_records, "pageless_reason", "record"),
        (process_records, "with_dom", "record"),
        (index_facts, "with_index_facts", "record"),
        (process_records, "extract_document", "extract"),
        (process_records, "rights_of", "judge"),
        (process_records, "analyzed", "judge"),
        (tables, "require_storable", "sign"),
        (signature_rows, "sign", "sign"),
        (records, "_record", "record"),
    ],
)
def test_an_exception_costs_one_record(files: DirectoryStore, monkeypatch, caplog, where, function, step):
    monkeypatch.setattr(where, function, poisoned(getattr(where, function)))
    with caplog.at_level(logging.WARNING):
        counts, verdicts = made(files)
    kept = [each for each in verdicts if each["keep"]]
    assert len(kept) == len(NUMBERS) - 1
    assert len(verdicts) == len(NUMBERS)
    reason = f"failed:{step}:Unforeseen"
    assert [each["reason"] for each in verdicts if not each["keep"]] == [reason]
    assert counts[f"extract/{reason}.documents"] == 1
    assert sum(count for name, count in counts.items() if name.endswith(".documents")) == len(NUMBERS)
    if where is not records:
        assert f"{step}: Unforeseen: of  [31mPOISON" in caplog.text


def test_half_a_pair_in_what_a_page_says_of_itself_is_replaced(tmp_path):
    said = '{"@type": "Article", "author": "\\ud800 Anna"}'
    page = f'<html><head><script type="application/ld+json">{said}</script></head><body><p>Rivers run.</p></body></html>'
    path = tmp_path / "a.jsonl"
    path.write_text(f"{json.dumps({'html': page})}\n")
    store = DirectoryStore(tmp_path / "data")
    ingest(store, "s", locate_inputs([path]))
    counts, _ = made(store)
    assert counts["keep.documents"] == 1
    (name,) = store.list("documents/")
    assert pq.read_table(store.open(name)).column("author").to_pylist() == ["\ufffd Anna"]


def test_half_a_pair_in_a_text_costs_the_record_alone(files: DirectoryStore, monkeypatch):
    def halved(record, *arguments, **named):
        found = expect(Document, document(record, *arguments, **named))
        return replace(found, title="\ud800") if POISON in record.url else found

    document = extract_document
    monkeypatch.setattr(process_records, "extract_document", halved)
    counts, _ = made(files)
    assert counts["keep.documents"] == 4
    assert counts["extract/failed:sign:UnicodeEncodeError.documents"] == 1


def test_damage_of_the_storage_is_no_fault_of_a_record(files: DirectoryStore, monkeypatch):
    def raising(*_, **__):
        raise CorruptData("it is not as it was sealed")

    monkeypatch.setattr(process_records, "extract_document", raising)
    with pytest.raises(CorruptData):
        made(files)


WITH_POISON = [*ROWS[:2], {"text": POISON, "url": "https://example.org/x", "id": "x"}, *ROWS[2:]]


@pytest.mark.parametrize(
    ("name", "data", "where", "function"),
    [
        ("a.jsonl", jsonl_of(WITH_POISON), jsonl_rows, "record_of_row"),
        ("a.csv", csv_of(WITH_POISON), delimited, "record_of_row"),
        ("a.parquet", parquet_of(WITH_POISON), arrow, "record_of_row"),
        ("a.jsonl", jsonl_of(WITH_POISON), columns, "_payload"),
        ("a.jsonl", jsonl_of(WITH_POISON), origin, "ingested_record"),
        (
            "a.tar",
            tarred([("a.txt", b"one"), ("b.txt", POISON.encode()), ("c.txt", b"three")]),
            tar,
            "document",
        ),
        ("a.txt", f"one\n{POISON}\nthree\n".encode(), text_files, "document"),
        (
            "wiki.xml",
            dumps.wiki(*(dumps.page(f"T{n}", dumps.revision(POISON if n == 1 else "text")) for n in NUMBERS)),
            wikipedia,
            "_record",
        ),
        (
            "unix.stackexchange.com.xml",
            dumps.posts(*(dumps.row(n, body=POISON if n == 1 else "<p>Why?") for n in NUMBERS)),
            stackexchange,
            "_post",
        ),
        (
            "unix.stackexchange.com.xml",
            dumps.posts(*(dumps.row(n, body=POISON if n == 1 else "<p>Why?") for n in NUMBERS)),
            stackexchange,
            "_entry",
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_an_exception_costs_one_record_of_an_input(tmp_path, monkeypatch, name, data, where, function):
    monkeypatch.setattr(where, function, poisoned(getattr(where, function)))
    path = tmp_path / name
    path.write_bytes(data)
    found = ingest(DirectoryStore(tmp_path / "data"), "s", locate_inputs([path]), IngestOptions(by_line=True))
    assert found.refused == []
    assert found.entries >= 2
    assert list(found.unusable.values()) == [1]
    (reason,) = found.unusable
    assert reason.startswith("failed:")
    assert reason.endswith(":Unforeseen")


def test_a_reader_that_fails_as_a_whole_costs_the_rest_of_its_file_and_no_other(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonl_rows, "_row", poisoned(jsonl_rows._row))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_bytes(jsonl_of(WITH_POISON))
    (tmp_path / "in" / "b.jsonl").write_bytes(jsonl_of([{"text": POISON}]))
    (tmp_path / "in" / "c.jsonl").write_bytes(jsonl_of(ROWS))
    found = ingest(DirectoryStore(tmp_path / "data"), "s", locate_inputs([tmp_path / "in"]))
    assert found.entries == 2 + len(ROWS)
    assert found.unusable == {"failed:jsonl:Unforeseen": 1}
    (refused,) = found.refused
    assert refused["file"] == "b.jsonl"
    assert "Unforeseen" in refused["reason"]
    assert refused["reason"].isprintable()
