"""`thresher export` as a user types it: formats, a mix, packing; and one line for what is wrong."""

import json
import re

import duckdb
import pytest

from tests.end_to_end.conftest import CallingUser
from thresher.shards.tokenizer import load_tokenizer_file

TOML = '[filters]\npreset = "none"\nlanguages = []\n[dedup]\nnear = "off"\n'
MIX = """
by = "documents"
[[source]]
name = "a"
share = 1
where.source = "first"
[[source]]
name = "b"
share = 3
where.source = "second"
repeat = 2
"""


@pytest.fixture(scope="module")
def user(tmp_path_factory):
    """A project with two processed sources."""
    directory = tmp_path_factory.mktemp("export")
    (directory / "thresher.toml").write_text(TOML)
    (directory / "tokenizer.json").write_text(load_tokenizer_file(None).json)
    user = CallingUser(directory)
    for source in ("first", "second"):
        rows = [{"text": f"Document {n} of {source}. " * 20} for n in range(30)]
        (directory / f"{source}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        user.run("ingest", source, f"{source}.jsonl")
    user.run("process")
    user.run("dedup")
    return user


def test_texts_are_exported_without_a_tokenizer(user):
    told = user.run("export", "--out", "texts", "--format", "jsonl").out
    assert re.fullmatch(r"texts: 60 documents, [0-9,]+ bytes of text in 1 shard\n", told)
    body = user.run("export", "--out", "texts", "--format", "jsonl", "--json").json
    assert (body["documents"], body["tokens"]) == (60, None)
    assert f" {body['text_bytes']:,} bytes" in told
    assert user.run("verify", "texts", "--json").json["damage"] == []
    assert user.run("report", "--json").json["stages"][-1]["tokens"] is None
    with duckdb.connect() as connection:
        rows = connection.sql(f"select text from '{user.directory}/texts/jsonl/*.jsonl.zst'").fetchall()
    assert sorted(text for (text,) in rows) == sorted(
        (f"Document {n} of {source}. " * 20).strip() for n in range(30) for source in ("first", "second")
    )
    refused = user.run("export", "--out", "wrong", "--format", "tokens", code=2).line
    assert refused.endswith("--format tokens needs token ids; add --tokenizer FILE")
    assert not (user.directory / "wrong").exists()


def export(user, *options, code=0):
    return user.run("export", "--tokenizer", "tokenizer.json", *options, code=code)


def test_formats_a_mix_and_packing_in_one_command(user):
    (user.directory / "mix.toml").write_text(MIX)
    options = (
        "--out",
        "out",
        "--format",
        "tokens",
        "--format",
        "jsonl",
        "--mix",
        "mix.toml",
        "--pack",
        "128",
    )
    told = export(user, *options, "--plot", "mix.png").out.splitlines()
    assert told[0].startswith("out: 80 documents, ")
    assert told[1].startswith("packed into ")
    assert re.fullmatch(r"sequences: \d+ in tokens, \d+ in jsonl", told[2])
    assert told[3:] == [
        "a: 25.00% (wanted 25.00%), 20 documents, 0.67 epochs",
        "b: 75.00% (wanted 75.00%), 60 documents, 2.00 epochs",
    ]
    assert (user.directory / "mix.png").read_bytes().startswith(b"\x89PNG")
    again = export(user, *options, "--json").json
    assert again["documents"] == 80
    assert [source["rows"] for source in again["mix"]] == [20, 60]
    assert again["packing"]["length"] == 128
    assert user.run("verify", "out", "--json").json["damage"] == []


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--mix", "absent.toml"), "absent.toml: no such file"),
        (("--mix", "thresher.toml"), "the unknown key 'filters'"),
        (
            ("--mix", "column.toml"),
            "where.langauge: documents have no column 'langauge'; did you mean 'language'",
        ),
        (
            ("--mix", "weight.toml"),
            "weight: documents have no column 'cluster_sizes'; did you mean 'cluster_size'",
        ),
        (("--mix", "weight2.toml"), "weight: title holds string, and no numbers"),
        (("--mix", "nothing.toml"), "no kept document belongs to source 'a'"),
        (("--pack", "0"), "--pack 0: give a length from 1"),
        (("--pack", str(10**30)), "give a length from 1 to 4,194,304"),
        (("--shard-size", "many"), "--shard-size"),
        (("--eos", "<end>"), "--eos <end>"),
        (("--packing", "concat"), "--pack"),
        (("--plot", "mix.png"), "--mix"),
        (
            ("--mix", "good.toml", "--plot", "nodir/mix.png"),
            "--plot nodir/mix.png: give a file in a directory",
        ),
        (("--mix", "good.toml", "--plot", "folder.png"), "--plot folder.png: give a file"),
        (("--out", ""), "--out is empty"),
        (("--out", " "), "--out is empty"),
    ],
)
def test_a_wrong_option_gets_one_line_and_makes_nothing(user, options, named):
    source = '[[source]]\nname = "a"\nshare = 1\n'
    for name, line in {
        "good": "",
        "column": 'where.langauge = "en"',
        "weight": 'weight = "cluster_sizes"',
        "weight2": 'weight = "title"',
        "nothing": 'where.language = "xx"',
    }.items():
        (user.directory / f"{name}.toml").write_text(source + line)
    (user.directory / "folder.png").mkdir(exist_ok=True)
    assert named in export(user, "--out", "wrong", *options, code=2).line
    assert not (user.directory / "wrong").exists()


def test_a_word_that_is_no_format_is_named_with_the_known_ones(user):
    said = export(user, "--out", "wrong", "--format", "torch", code=2).err.splitlines()[-1]
    assert said.startswith("Error: Invalid value for '--format': 'torch' is not one of 'tokens', 'parquet'")


def test_a_tokenizer_without_an_end_token_is_named_unless_none_is_wanted(user):
    assert "names no end token" in export(user, "--out", "marked").err
    assert "names no end token" not in export(user, "--out", "none", "--eos", "none").err
    assert "names no end token" not in export(user, "--out", "some", "--eos", "7").err


def test_a_number_of_shards_agrees_with_its_noun(user):
    assert export(user, "--out", "one").out.endswith("in 1 shard\n")
    assert export(user, "--out", "many", "--shard-size", "10kB").out.endswith(" shards\n")


def test_a_mix_by_the_size_of_clusters_and_a_column_of_numbers(user):
    for name, line in {
        "clusters": "where.cluster_size = { max = 1 }\nweight = 'cluster_size'",
        "numbers": "where.record_offset = { min = 0 }\nweight = 'record_length'",
    }.items():
        (user.directory / f"{name}.toml").write_text(f'[[source]]\nname = "a"\nshare = 1\n{line}\n')
        assert " tokens in 1 shard" in export(user, "--out", name, "--mix", f"{name}.toml").out


def test_other_options_for_the_same_directory_are_refused_by_name(user):
    export(user, "--out", "same")
    assert "shard_bytes.parquet" in export(user, "--out", "same", "--shard-size", "5MB", code=2).line
    assert "formats" in export(user, "--out", "same", "--format", "jsonl", code=2).line
