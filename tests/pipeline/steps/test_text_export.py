"""An export without a tokenizer has the documents that one with a tokenizer has, as texts."""

import pytest

from tests.pipeline.steps.made_exports import (  # noqa: F401 - fixtures are imported by name
    BOOKS,
    KEPT,
    NEWS,
    contents,
    dataset_of,
    exported,
    json_rows,
    mix_of,
    parquet_rows,
    processed,
)
from thresher import Loader
from thresher.core import InputError
from thresher.pipeline.commands.results import dataset_body, dataset_line
from thresher.pipeline.engine.working_stages import WorkingStages
from thresher.pipeline.integrity.export_audit import repair_dataset, verify_dataset
from thresher.pipeline.terminal.progress import LineProgress

ROWS = ("parquet", "jsonl", "hf", "webdataset", "mds")
TEXTS = {"tokenizer": "none", "formats": ROWS, "shard_bytes": 10_000}


def without_ids(rows):
    return [{name: value for name, value in row.items() if name != "input_ids"} for row in rows]


def test_texts_are_the_rows_of_tokens_without_ids_in_the_same_order(exported):
    texts = exported("texts", **TEXTS)
    rows = parquet_rows(texts)
    assert len(rows) == KEPT
    assert rows == without_ids(parquet_rows(exported("tokens")))
    assert parquet_rows(texts, "hf/data/*.parquet") == rows
    assert json_rows(texts) == rows


def test_the_manifest_and_the_cards_count_texts_and_no_tokens(exported):
    out = exported(**TEXTS)
    dataset, texts = dataset_of(out), [row["text"] for row in parquet_rows(out)]
    assert (dataset.documents, dataset.tokens) == (KEPT, None)
    assert dataset.text_bytes == sum(len(text.encode()) for text in texts)
    assert dataset.recipe["tokenizer"] is None
    assert [column["name"] for column in dataset.schema["jsonl"]] == list(parquet_rows(out)[0])
    assert {"name": "record_offset", "type": "int64", "nullable": False} in dataset.schema["parquet"]
    body = dataset_body("out", dataset)
    assert (body["tokens"], body["text_bytes"]) == (None, dataset.text_bytes)
    assert f"{KEPT} documents, {dataset.text_bytes:,} bytes of text in" in dataset_line("out", dataset)
    for card in ("README.md", "hf/README.md"):
        words = (out / card).read_text()
        assert "tokens" not in words.lower()
        assert f"{dataset.text_bytes:,} bytes of text" in words


def test_texts_can_be_left_out_so_that_rows_say_what_was_kept(exported):
    out = exported(tokenizer="none", with_text=False)
    assert list(parquet_rows(out)[0]) == ["id", "url", "source", "record_file", "record_offset"]
    assert dataset_of(out).text_bytes is None


def test_a_lost_shard_of_texts_is_made_again(exported):
    out = exported(**TEXTS)
    before = contents(out)
    (out / "data" / "shard-00001.parquet").unlink()
    (out / "jsonl" / "shard-00000.jsonl.zst").write_bytes(b"damaged")
    assert len(verify_dataset(str(out), LineProgress()).damage) == 2
    repair_dataset(str(out))
    exported(**TEXTS)
    assert contents(out) == before


def test_an_export_of_texts_that_was_killed_goes_on(exported, monkeypatch):
    expected = contents(exported("expected", **TEXTS))
    run, ran = WorkingStages.run, []

    def stop(stages, step, parts, work):
        ran.append(step.name)
        if step.name == "shard":
            raise KeyboardInterrupt
        return run(stages, step, parts, work)

    with monkeypatch.context() as stopped:
        stopped.setattr(WorkingStages, "run", stop)
        with pytest.raises(KeyboardInterrupt):
            exported(**TEXTS)
    assert contents(exported(**TEXTS)) == expected
    assert exported.made == len(dataset_of(exported.directory / "out").shards)


def test_the_loader_says_that_texts_have_no_tokens(exported):
    with pytest.raises(InputError, match="it holds texts and no token ids; export with --tokenizer"):
        Loader(exported(tokenizer="none"), length=8, batch_size=1)


def test_texts_are_mixed_by_documents(exported):
    mix = mix_of({**NEWS, "share": 0.2}, {**BOOKS, "share": 0.8, "repeat": 3}, by="documents")
    out = exported("texts", tokenizer="none", mix=mix)
    assert parquet_rows(out) == without_ids(parquet_rows(exported("tokens", mix=mix)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"formats": ("jsonl", "tokens")}, "--format tokens needs token ids; add --tokenizer FILE"),
        ({"formats": ("megatron",)}, "--format megatron needs token ids; add --tokenizer FILE"),
        ({"pack": 128}, "--pack needs token ids; add --tokenizer FILE"),
        ({"eos": "none"}, "--eos needs token ids; add --tokenizer FILE"),
        ({"mix": mix_of({**NEWS, "share": 1})}, 'write by = "documents"'),
    ],
)
def test_what_needs_tokens_is_refused_in_one_line(exported, options, words):
    with pytest.raises(InputError) as error:
        exported(tokenizer="none", **options)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
