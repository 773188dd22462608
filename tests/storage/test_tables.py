"""Tables hold what they are given, and the same rows are the same bytes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.storage.reading import sealed
from thresher.core import CorruptData, Document, Edit, RecordRef, Verdict
from thresher.storage import tables
from thresher.storage.directory_store import DirectoryStore


def document(number, text="Some text.\n"):
    return Document(
        id=f"{number:032x}",
        url=f"https://example.org/{number}",
        text=text,
        title="Title",
        date="2026-01-02",
        language="en",
        declared_language="en-GB",
        license="",
        mime="text/html",
        charset="utf-8",
        extractor="trafilatura@2.3.1",
        source="main",
        external_id="",
        fetched_at_ms=1_767_323_045_678,
        record=RecordRef(file="warc/main/a.warc.gz", offset=number, length=100, digest="sha1:ABC"),
    )


def verdict(number, keep=True, **measurements):
    return Verdict(
        id=str(number),
        keep=keep,
        rule="" if keep else "gopher",
        reason="" if keep else "short",
        measurements=measurements,
    )


def signatures(count, seed=0):
    noise = np.random.default_rng(seed)
    return tables.signature_rows(
        ids=[str(number) for number in range(count)],
        text_hashes=[noise.bytes(16) for _ in range(count)],
        urls=[f"http://example.org/{number}" for number in range(count)],
        text_bytes=list(range(count)),
        payload_bytes=[number * 2 for number in range(count)],
        fetched_at_ms=[number * 3 for number in range(count)],
        minhashes=noise.integers(0, 1 << 32, (count, 112), dtype=np.uint32),
    )


def test_documents_have_these_columns_and_no_nulls():
    table = tables.document_rows([document(1)])
    assert table.schema == tables.DOCUMENTS
    assert table.column_names == [
        "id", "url", "text", "title", "date", "language", "declared_language", "license", "mime", "charset",
        "extractor", "source", "external_id", "fetched_at_ms", "record_file", "record_offset", "record_length",
        "record_digest", "robots", "tdm_reservation", "tdm_policy", "author", "canonical_url",
        "declared_mime", "charset_source", "truncated", "route", "fact_sources",
        "screenshot_offset", "screenshot_length",
    ]  # fmt: skip
    assert table.to_pylist()[0]["record_offset"] == 1
    assert not any(field.nullable for field in table.schema)


def test_verdicts_say_what_was_decided():
    table = tables.verdict_rows([verdict(1, words=3.0), verdict(2, keep=False, lines=1)])
    assert table.column_names == ["id", "keep", "rule", "reason", "edits"]
    assert table["reason"].to_pylist() == ["", "short"]


def test_measurements_have_a_column_for_each_name_and_for_the_reasons_of_each_rule():
    made: list[tuple[dict[str, float], dict[str, str]]] = [
        ({"words": 3.0}, {}),
        ({"lines": 1}, {"c4": "lorem"}),
    ]
    rows = [
        tables.MeasurementRow(
            id=str(number),
            language="en",
            payload_bytes=9,
            text_bytes=5,
            edits=[Edit(0, number)],
            measurements=measured,
            reasons=reasons,
        )
        for number, (measured, reasons) in enumerate(made)
    ]
    table = tables.measurement_rows(rows, ["words", "lines", "alpha"], ["c4"])
    columns = [
        "id",
        "language",
        "payload_bytes",
        "text_bytes",
        "edits",
        "alpha",
        "lines",
        "words",
        "reason_c4",
    ]
    assert table.column_names == columns
    assert table["words"].to_pylist() == [3.0, None]
    assert table["lines"].to_pylist() == [None, 1.0]
    assert table["alpha"].null_count == 2
    assert table["reason_c4"].to_pylist() == [None, "lorem"]
    assert table["edits"].to_pylist()[1] == [{"start": 0, "end": 1, "replacement": ""}]


def test_edits_are_found_by_id(tmp_path: Path):
    edits = (Edit(0, 3), Edit(5, 5, "ßx"))
    rows = [verdict(1), verdict(2)]
    tables.write(tmp_path / "v", tables.verdict_rows([replace(rows[0], edits=edits), rows[1]]))
    store = DirectoryStore(tmp_path)
    assert tables.edits_by_id(store, sealed(store, "v")) == {rows[0].id: edits}


def test_signatures_round_trip_over_several_files(tmp_path: Path):
    one, two = signatures(3), signatures(5, seed=1)
    tables.write(tmp_path / "1", one)
    tables.write(tmp_path / "2", two)
    found = tables.read_signatures(
        DirectoryStore(tmp_path), [sealed(DirectoryStore(tmp_path), name) for name in "12"]
    )
    assert found.ids == ["0", "1", "2", "0", "1", "2", "3", "4"]
    assert found.minhashes.shape == (8, 112)
    assert found.minhashes.dtype == np.uint32
    assert found.minhashes[4].tolist() == two["minhash"][1].as_py()
    assert found.text_hashes[0] == one["text_hash"][0].as_py()
    assert found.payload_bytes.tolist() == [0, 2, 4, 0, 2, 4, 6, 8]


def test_no_signatures_are_signatures_too(tmp_path: Path):
    tables.write(tmp_path / "0", signatures(0))
    for names in ("", "0"):
        found = tables.read_signatures(
            DirectoryStore(tmp_path), [sealed(DirectoryStore(tmp_path), name) for name in names]
        )
        assert (found.ids, found.minhashes.shape) == ([], (0, 112))


@pytest.mark.parametrize("sizes", [(), (0,), (5,), (4096,), (4095, 1, 4097), (1, 9000, 0, 3), (8192, 10)])
def test_a_table_in_pieces_has_the_bytes_of_the_whole(tmp_path: Path, sizes):
    whole = signatures(sum(sizes))
    starts = np.cumsum([0, *sizes])[: len(sizes)].tolist()
    tables.write(tmp_path / "whole", whole)
    pieces = [whole.slice(start, size) for start, size in zip(starts, sizes, strict=True)]
    tables.write_pieces(tmp_path / "pieces", whole.schema, pieces)
    assert (tmp_path / "pieces").read_bytes() == (tmp_path / "whole").read_bytes()


def test_empty_tables_have_their_columns(tmp_path: Path):
    for table in (
        tables.document_rows([]),
        tables.verdict_rows([]),
        tables.measurement_rows([], ["x"], ["r"]),
        signatures(0),
        tables.REMOVALS.empty_table(),
    ):
        tables.write(tmp_path / "x", table)
        assert pq.read_table(tmp_path / "x").schema.equals(table.schema)


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=50), max_size=20), st.integers(0, 20)
)
def test_the_same_rows_are_the_same_bytes_however_they_came_together(
    tmp_path_factory: pytest.TempPathFactory, texts, border
):
    directory = tmp_path_factory.mktemp("tables")
    documents = [document(number, text) for number, text in enumerate(texts)]
    whole = tables.document_rows(documents)
    pieces = [tables.document_rows(documents[:border]), tables.document_rows(documents[border:])]
    padded = tables.document_rows([document(99), *documents, document(98)])
    tables.write(directory / "whole", whole)
    tables.write(directory / "pieces", pa.concat_tables(pieces))
    tables.write(directory / "slice", padded.slice(1, len(documents)))
    first = (directory / "whole").read_bytes()
    assert (directory / "pieces").read_bytes() == first
    assert (directory / "slice").read_bytes() == first
    assert pq.read_table(directory / "whole")["text"].to_pylist() == texts


def test_many_rows_are_the_same_bytes_and_several_groups(tmp_path: Path):
    documents = [document(number, "word " * (number % 50)) for number in range(9000)]
    tables.write(tmp_path / "one", tables.document_rows(documents))
    tables.write(
        tmp_path / "two",
        pa.concat_tables(tables.document_rows(documents[at : at + 700]) for at in range(0, 9000, 700)),
    )
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert pq.ParquetFile(tmp_path / "one").num_row_groups == 3


def test_measurements_keep_their_nulls_in_any_chunking(tmp_path: Path):
    verdicts = [verdict(number, **({"x": number} if number % 3 else {})) for number in range(100)]
    tables.write(tmp_path / "one", tables.verdict_rows(verdicts))
    split = [tables.verdict_rows(verdicts[:50]), tables.verdict_rows(verdicts[50:])]
    tables.write(tmp_path / "two", pa.concat_tables(split))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_any_parquet_reader_knows_the_columns(tmp_path: Path):
    tables.write(tmp_path / "x", signatures(4))
    metadata = pq.read_metadata(tmp_path / "x")
    assert metadata.num_rows == 4
    assert metadata.row_group(0).column(0).compression == "ZSTD"


@pytest.mark.parametrize("cut", [0, 4, 100, -1])
def test_a_table_cut_short_is_corrupt_in_one_line(tmp_path: Path, cut):
    tables.write(tmp_path / "x", signatures(4))
    (tmp_path / "x").write_bytes((tmp_path / "x").read_bytes()[:cut])
    with pytest.raises(CorruptData, match=r"\A[^\n]*make it again\Z"):
        tables.read_signatures(DirectoryStore(tmp_path), [sealed(DirectoryStore(tmp_path), "x")])


def test_a_table_of_something_else_is_corrupt(tmp_path: Path):
    pq.write_table(pa.table({"id": ["a"]}), tmp_path / "x")
    with pytest.raises(CorruptData, match="cannot be read as a table of Thresher"):
        tables.read(DirectoryStore(tmp_path), sealed(DirectoryStore(tmp_path), "x"), tables.DOCUMENTS)
    pq.write_table(pa.table({name: ["x"] for name in tables.DOCUMENTS.names}), tmp_path / "x")
    with pytest.raises(CorruptData, match="cannot be read as a table of Thresher"):
        tables.read(DirectoryStore(tmp_path), sealed(DirectoryStore(tmp_path), "x"), tables.DOCUMENTS)
