"""`thresher export` as a user types it: formats, a mix, packing; and one line for what is wrong."""

import json

import pytest

from shards.tokenizer import load_tokenizer_file
from tests.end_to_end.conftest import CallingUser

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
    assert told[2:] == [
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
        (("--mix", "thresher.toml"), "unknown field"),
        (("--shard-size", "many"), "--shard-size"),
        (("--eos", "<end>"), "--eos <end>"),
        (("--packing", "concat"), "--pack"),
        (("--plot", "mix.png"), "--mix"),
    ],
)
def test_a_wrong_option_gets_one_line_and_makes_nothing(user, options, named):
    assert named in export(user, "--out", "wrong", *options, code=2).line
    assert not (user.directory / "wrong").exists()


def test_other_options_for_the_same_directory_are_refused_by_name(user):
    export(user, "--out", "same")
    assert "shard_bytes.parquet" in export(user, "--out", "same", "--shard-size", "5MB", code=2).line
    assert "formats" in export(user, "--out", "same", "--format", "jsonl", code=2).line
