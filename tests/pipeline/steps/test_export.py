"""An export holds every kept document once in each format, in one order, whatever the machine divides it into."""

import json
import tarfile
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tokenizers import AddedToken, Tokenizer

from tests.pipeline.steps.made_exports import (  # noqa: F401 - fixtures are imported by name
    BOOKS,
    KEPT,
    NEWS,
    PARTS,
    contents,
    dataset_of,
    exported,
    json_rows,
    mix_of,
    parquet_rows,
    processed,
)
from thresher.core import InputError
from thresher.pipeline.commands.exports.export_commands import ShardFormat
from thresher.pipeline.commands.results import dataset_body, dataset_line
from thresher.pipeline.engine.working_stages import WorkingStages
from thresher.pipeline.integrity.export_audit import repair_dataset, verify_dataset
from thresher.pipeline.reports.mix_plot import check_plot, draw_mix
from thresher.pipeline.steps import export_plan, sharding
from thresher.pipeline.steps.choice import selecting
from thresher.pipeline.steps.options.export_options import parse_shard_size
from thresher.pipeline.steps.tokenizing import TOKENIZER
from thresher.pipeline.terminal.progress import LineProgress
from thresher.shards import Dataset
from thresher.shards.formats.registry import FORMATS
from thresher.shards.formats.tokens import TokensShard
from thresher.shards.tokenizer import load_tokenizer_file

ALL = tuple(FORMATS)


def test_a_tokenizer_that_was_changed_between_two_attempts_is_replaced(exported, monkeypatch):
    """An attempt ends before its first part; its tokenizer is changed, and the export is run again."""
    expected = contents(exported("expected"))

    def stop(*_args, **_options):
        raise KeyboardInterrupt

    with monkeypatch.context() as stopped:
        stopped.setattr(WorkingStages, "run", stop)
        with pytest.raises(KeyboardInterrupt):
            exported()
    (tokenizer,) = exported.directory.rglob(f"out/.work/*/*/{TOKENIZER}")
    swapped = json.loads(tokenizer.read_text())
    vocabulary = swapped["model"]["vocab"]
    swapped["model"]["vocab"] = dict(zip(vocabulary, reversed(vocabulary.values()), strict=True))
    tokenizer.write_text(json.dumps(swapped))
    assert contents(exported()) == expected


def token_rows(out):
    found = {}
    for path in sorted(out.glob("tokens/*/*.tokens")):
        shard = TokensShard.open(path)
        ends = shard.ends.tolist()
        ids = [shard.ids(start, end).tolist() for start, end in zip([0, *ends], ends, strict=False)]
        references = pq.read_table(path.with_suffix(".refs.parquet")).to_pylist()
        found.setdefault(path.parent.name, []).extend(zip(ids, references, strict=True))
    return found


def test_every_format_of_the_command_exists():
    assert set(ShardFormat) == set(FORMATS)


def test_all_formats_hold_the_same_rows_in_the_same_order(exported):
    out = exported(formats=ALL, shard_bytes=20_000)
    rows = parquet_rows(out)
    assert len(rows) == len({row["id"] for row in rows}) == KEPT
    assert len(list(out.glob("data/*.parquet"))) > 2
    assert parquet_rows(out, "hf/data/*.parquet") == rows
    assert json_rows(out) == rows
    texts = []
    for path in sorted(out.glob("webdataset/*.tar")):
        with tarfile.open(path) as tar:
            texts += [
                tar.extractfile(member).read().decode()  # type: ignore[union-attr]
                for member in tar
                if member.name.endswith(".txt")
            ]
    assert texts == [row["text"] for row in rows]
    ids = np.concatenate(
        [np.frombuffer(path.read_bytes(), "<u2") for path in sorted(out.glob("megatron/*.bin"))]
    )
    assert ids.tolist() == [token for row in rows for token in row["input_ids"]]
    index = json.loads((out / "mds" / "index.json").read_bytes())
    assert sum(shard["samples"] for shard in index["shards"]) == KEPT
    assert {shard["raw_data"]["basename"] for shard in index["shards"]} == {
        path.name for path in out.glob("mds/*.mds")
    }


def test_shards_of_tokens_hold_one_source_each(exported):
    out = exported(formats=("tokens", "parquet"), shard_bytes=20_000)
    found = token_rows(out)
    assert list(found) == sorted(PARTS)
    by_id = {row["id"]: row for row in parquet_rows(out)}
    for source, rows in found.items():
        for ids, reference in rows:
            row = by_id.pop(reference["id"])
            assert row["source"] == source
            assert row["input_ids"] == ids
            assert reference["record_length"] > 0
            assert reference["record_digest"].startswith("sha")
            assert {name: row[name] for name in row if name in reference}.items() <= reference.items()
    assert by_id == {}
    numbers = [int(reference["record_offset"]) for _, reference in found["news"]]
    assert numbers != sorted(numbers)


@pytest.mark.slow
def test_neither_groups_nor_levels_of_merging_change_a_byte(exported, monkeypatch):
    options = {"formats": ("tokens", "parquet", "jsonl"), "shard_bytes": 20_000}
    plain = contents(exported("plain", **options))
    monkeypatch.setattr(export_plan, "GROUP_TEXT_BYTES", 1)
    assert contents(exported("groups", **options)) == plain
    monkeypatch.setattr(sharding, "FAN_IN", 2)
    levels = Counter()
    run = WorkingStages.run

    def counted(stages, step, parts, work):
        levels[step.name] += 1
        return run(stages, step, parts, work)

    monkeypatch.setattr(WorkingStages, "run", counted)
    assert contents(exported("levels", **options)) == plain
    assert levels["merge"] >= 4  # five groups, merged by two: two levels of both orders


@pytest.mark.parametrize("fan_in", [2, 256])
def test_lost_shards_are_made_again_from_their_own_documents_alone(exported, monkeypatch, fan_in):
    monkeypatch.setattr(export_plan, "GROUP_TEXT_BYTES", 1)
    monkeypatch.setattr(sharding, "FAN_IN", fan_in)
    options = {"formats": ("tokens", "megatron", "mds"), "shard_bytes": 20_000}
    out = exported(**options)
    before = contents(out)
    (out / "tokens" / "news" / "shard-00001.refs.parquet").unlink()
    (out / "megatron" / "shard-00001.idx").write_bytes(b"damaged")
    (out / "mds" / "shard.00000.mds").unlink()
    damage = verify_dataset(str(out), LineProgress()).damage
    assert len(damage) == 3
    repair_dataset(str(out))
    exported(**options)
    assert contents(out) == before
    assert verify_dataset(str(out), LineProgress()).damage == ()


@pytest.mark.parametrize("size", [3_000, 20_000])
def test_a_shard_has_the_size_that_was_asked_for(exported, size):
    out = exported(formats=("parquet",), shard_bytes=size)
    tokens = [
        sum(len(row["input_ids"]) for row in pq.read_table(path).to_pylist()) for path in out.glob("data/*")
    ]
    bytes_of_text_and_ids = np.array(tokens) * 5
    assert bytes_of_text_and_ids.mean() < size
    assert bytes_of_text_and_ids.mean() > size / 3


def test_texts_can_be_left_out(exported):
    out = exported(formats=("parquet", "jsonl", "hf"), with_text=False)
    assert "text" not in pq.read_schema(out / "data" / "shard-00000.parquet").names
    assert (
        "text" not in (out / "hf" / "README.md").read_text().partition("---\n\n")[0].partition("features:")[2]
    )
    assert all("text" not in row for row in parquet_rows(out, "hf/data/*.parquet"))


def with_end(tmp_path, config=None):
    tokenizer = Tokenizer.from_str(load_tokenizer_file(None).json)
    tokenizer.add_special_tokens([AddedToken("</s>", special=True), AddedToken("[END]", special=True)])
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer.to_str())
    if config is not None:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    return load_tokenizer_file(path)


@pytest.mark.parametrize(
    ("wanted", "config", "end"),
    [
        (None, None, 256),
        (None, {"eos_token": "[END]"}, 257),
        (None, {"eos_token": {"content": "[END]"}}, 257),
        ("[END]", None, 257),
        ("7", None, 7),
        ("none", {"eos_token": "[END]"}, None),
    ],
)
def test_documents_end_as_asked_for(exported, tmp_path, wanted, config, end):
    out = exported(formats=("tokens", "parquet"), eos=wanted, tokenizer=with_end(tmp_path, config))
    rows = parquet_rows(out)
    for row in rows:
        plain = list(row["text"].encode())
        assert len(row["input_ids"]) == len(plain) + (end is not None)
        assert end is None or row["input_ids"][-1] == end
    assert sum(len(ids) for rows in token_rows(out).values() for ids, _ in rows) == sum(
        len(row["input_ids"]) for row in rows
    )
    recipe = Dataset.from_json((out / "manifest.json").read_bytes(), "here").recipe
    assert recipe["tokenizer"]["eos"] == end
    assert recipe["tokenizer"]["dtype"] == "uint16"


def test_documents_begin_as_asked_for(exported, tmp_path):
    out = exported(formats=("tokens", "parquet"), bos="</s>", eos="[END]", tokenizer=with_end(tmp_path))
    rows = parquet_rows(out)
    for row in rows:
        assert row["input_ids"][0] == 256
        assert row["input_ids"][-1] == 257
        assert len(row["input_ids"]) == len(row["text"].encode()) + 2
    of_tokens = Counter(tuple(ids) for rows in token_rows(out).values() for ids, _ in rows)
    assert of_tokens == Counter(tuple(row["input_ids"]) for row in rows)
    assert dataset_of(out).recipe["tokenizer"]["bos"] == 256


@pytest.mark.parametrize("special_tokens", ["text", "ids"])
def test_the_name_of_a_special_token_in_a_text_is_text_unless_asked_otherwise(
    exported, tmp_path, special_tokens
):
    file = with_end(tmp_path)
    tokenizer = Tokenizer.from_str(file.json)
    tokenizer.add_special_tokens([AddedToken("words", special=True)])  # which all texts but one have
    (tmp_path / "tokenizer.json").write_text(tokenizer.to_str())
    chosen = load_tokenizer_file(tmp_path / "tokenizer.json")
    out = exported(tokenizer=chosen, special_tokens=special_tokens)
    found = [258 in row["input_ids"] for row in parquet_rows(out) if "words" in row["text"]]
    assert len(found) == KEPT - 1
    assert set(found) == {special_tokens == "ids"}
    dataset = dataset_of(out)
    assert dataset.recipe["tokenizer"]["special_tokens"] == special_tokens
    assert dataset.contents["special_token"] == {"": 1, "words": KEPT - 1}
    assert dataset_body("out", dataset)["special_token_texts"] == KEPT - 1
    became = {"text": "text", "ids": "ids of these tokens"}[special_tokens]
    line = (
        f"{KEPT - 1} documents have the name of a special token in their text (words), which became {became}"
    )
    assert line in dataset_line("out", dataset).splitlines()


def test_without_special_tokens_no_name_of_one_is_counted(exported):
    dataset = dataset_of(exported())
    assert (dataset.special_token_texts, "special_token" in dataset.contents) == (None, False)


@pytest.mark.parametrize("wanted", ["[MISSING]", "258", "-1", ""])
def test_an_end_token_that_the_tokenizer_lacks_is_refused(exported, tmp_path, wanted):
    with pytest.raises(InputError, match="--eos"):
        exported(eos=wanted, tokenizer=with_end(tmp_path))


@pytest.mark.parametrize("size", ["0", "-1", "3GiB", "much", ""])
def test_a_size_that_no_shard_can_have_is_refused(size):
    with pytest.raises(InputError, match="--shard-size"):
        parse_shard_size(size)


def test_the_manifest_counts_the_documents_of_one_format(exported):
    out = exported(formats=("tokens", "parquet", "megatron"), shard_bytes=20_000)
    dataset = Dataset.from_json((out / "manifest.json").read_bytes(), "here")
    assert dataset.documents == KEPT
    assert dataset.tokens == sum(len(row["input_ids"]) for row in parquet_rows(out))
    assert {shard.format for shard in dataset.shards} == {"tokens", "parquet", "megatron"}


@pytest.mark.parametrize("groups", [1, 1 << 30])
@pytest.mark.parametrize("by", ["tokens", "documents"])
def test_a_mix_has_its_shares_in_every_format(exported, monkeypatch, by, groups):
    monkeypatch.setattr(export_plan, "GROUP_TEXT_BYTES", groups)
    mix = mix_of({**NEWS, "share": 0.2}, {**BOOKS, "share": 0.8, "repeat": 3}, by=by)
    out = exported(formats=("tokens", "parquet"), mix=mix, shard_bytes=20_000)
    rows = parquet_rows(out)
    amount = Counter()
    for row in rows:
        amount[row["source"]] += len(row["input_ids"]) if by == "tokens" else 1
    largest = max(len(row["input_ids"]) for row in rows) if by == "tokens" else 1
    assert abs(amount["books"] - 0.8 * amount.total()) <= largest
    times = Counter(row["id"] for row in rows if row["source"] == "books")
    assert set(times.values()) == {3}
    found = {name: sorted(each["id"] for _, each in rows) for name, rows in token_rows(out).items()}
    assert found == {
        "press": sorted(row["id"] for row in rows if row["source"] == "news"),
        "library": sorted(row["id"] for row in rows if row["source"] == "books"),
    }
    realised = {each["name"]: each for each in dataset_of(out).mix}
    assert realised["library"]["realised"] == amount["books"]
    assert realised["press"]["rows"] == sum(row["source"] == "news" for row in rows)
    assert {each["limit"] for each in realised.values()} <= ({""} if by == "documents" else {"", "coarse"})


def test_a_mix_is_the_same_in_groups_of_any_size(exported, monkeypatch):
    mix = mix_of({**NEWS, "share": 1}, {**BOOKS, "share": 1, "repeat": 2})
    plain = contents(exported("plain", formats=("tokens", "parquet"), mix=mix, shard_bytes=20_000))
    monkeypatch.setattr(export_plan, "GROUP_TEXT_BYTES", 1)
    assert contents(exported("groups", formats=("tokens", "parquet"), mix=mix, shard_bytes=20_000)) == plain


def test_a_lost_shard_of_a_mix_is_made_again(exported):
    mix = mix_of({**NEWS, "share": 1}, {**BOOKS, "share": 1, "repeat": 2})
    options = {"formats": ("tokens", "parquet"), "mix": mix, "shard_bytes": 20_000}
    out = exported(**options)
    before = contents(out)
    (out / "data" / "shard-00001.parquet").unlink()
    (out / "tokens" / "library" / "shard-00000.tokens").unlink()
    exported(**options)
    assert contents(out) == before


def test_a_source_that_runs_dry_is_named(exported):
    mix = mix_of({**NEWS, "share": 1}, {**BOOKS, "share": 1}, by="documents", size=100)
    realised = {each["name"]: each for each in dataset_of(exported(mix=mix)).mix}
    assert (realised["press"]["realised"], realised["press"]["limit"]) == (50, "")
    assert (realised["library"]["limit"], realised["library"]["wanted"]) == ("dry", 50)
    assert realised["library"]["realised"] == realised["library"]["available"] < 50


def test_documents_with_duplicates_occur_more_often(exported):
    mix = mix_of(
        {"name": "all", "share": 1, "repeat": 5, "weight": "cluster_size"}, by="documents", size=KEPT // 2
    )
    times = Counter(row["text"] for row in parquet_rows(exported(mix=mix)))
    assert times.most_common(1)[0][0].startswith("The same text")
    assert times.most_common(1)[0][1] >= 2


def test_columns_of_documents_choose(exported):
    mix = mix_of({"name": "none", "where": {"language": "xx"}, "share": 1}, {**NEWS, "share": 1})
    with pytest.raises(InputError, match="no kept document belongs to source 'none'"):
        exported("nothing", mix=mix)
    out = exported(mix=mix_of({"name": "some", "where": {"record_offset": {"max": 5_000}}, "share": 1}))
    assert 0 < len(parquet_rows(out)) < KEPT
    assert all(row["record_offset"] <= 5_000 for row in parquet_rows(out))


def test_domains_choose_their_own_hosts_and_those_below(exported):
    out = exported(mix=mix_of({"name": "a", "share": 1, "where": {"domain": ["a.example.org", "c.example"]}}))
    found = parquet_rows(out)
    assert found
    assert all(row["url"].startswith("https://a.example.org/") for row in found)
    below = exported("below", mix=mix_of({"name": "a", "share": 1, "where": {"domain": "Example.org"}}))
    assert len(parquet_rows(below)) > len(found)
    with pytest.raises(InputError, match="no kept document"):
        exported("part", mix=mix_of({"name": "a", "share": 1, "where": {"domain": "xample.org"}}))


def test_measurements_choose_and_weigh():
    mix = mix_of({"name": "good", "share": 1, "where": {"quality": {"min": 0.2}}, "weight": "quality"})
    documents = pa.table({"id": ["a", "b", "c"], "quality": pa.array([0.2, None, 0.9])})
    assert selecting._meets(documents, mix.source[0]).tolist() == [True, False, True]
    assert selecting._weights(documents, "quality").tolist() == [0.2, 0.0, 0.9]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"colour": "red"}, "no column 'colour'"),
        ({"language": {"min": 1}}, "where.language must be a text"),
        ({"record_offset": "5"}, "where.record_offset must be a table"),
    ],
)
def test_a_condition_that_does_not_fit_its_column_is_refused(exported, where, message):
    with pytest.raises(InputError, match=message):
        exported(mix=mix_of({"name": "a", "share": 1, "where": where}))


def test_a_mix_is_drawn(exported, tmp_path):
    mix = mix_of({**NEWS, "share": 1}, {**BOOKS, "share": 1})
    check_plot(tmp_path / "mix.svg", mix)
    draw_mix(dataset_of(exported(mix=mix)), tmp_path / "mix.svg")
    drawn = (tmp_path / "mix.svg").read_text()
    assert drawn.startswith("<?xml")
    for name, given in (("mix.txt", mix), ("mix.png", None)):
        with pytest.raises(InputError, match="--plot"):
            check_plot(tmp_path / name, given)


@pytest.mark.parametrize(
    ("values", "condition", "meets"),
    [
        ([True, None, False], True, [True, False, False]),
        ([["mit"], None, [], ["gpl", "mit"]], "mit", [True, False, False, True]),
        ([["mit"], ["bsd"], ["gpl"]], ["bsd", "mit"], [True, True, False]),
        ([5, None, 2**60], {"min": 5}, [True, False, True]),
        (["en", None], ["en", "de"], [True, False]),
    ],
)
def test_columns_of_every_type_choose(values, condition, meets):
    mix = mix_of({"name": "a", "share": 1, "where": {"column": condition}})
    documents = pa.table({"column": pa.array(values)})
    assert selecting._meets(documents, mix.source[0]).tolist() == meets
