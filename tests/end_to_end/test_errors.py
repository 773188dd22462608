"""Wrong input: one clear line, exit code 2, and nothing stored is changed."""

import re
import socket
import time
from dataclasses import replace
from pathlib import Path

import pytest


def seeds(user, text="http://127.0.0.1:9/\n", name="seeds.txt"):
    path = user.directory / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no such file"),
        (b"", "is empty"),
        (b"\x7fELF\x00\x01\x02", "binary"),
        (b"# only\n", "no URL in it"),
    ],
)
def test_seeds_that_are_missing_empty_or_binary(calling_user, content, said):
    path = calling_user.directory / "seeds.txt"
    if content is not None:
        path.write_bytes(content)
    said_line = calling_user.run("run", path, "--out", "out", code=2).line
    assert said in said_line
    assert "seeds.txt" in said_line
    assert not (calling_user.directory / "out").exists()


def test_a_line_that_is_no_url_is_named_and_the_others_are_added(calling_user):
    path = seeds(calling_user, "http://127.0.0.1:9/\nno url at all\n")
    said = calling_user.run("seed", path, "--crawl", "main", "--json")
    assert said.json["added"] == 1
    assert said.json["refused"] == 1
    assert "line 2: 'no url at all' is no URL" in said.err


def test_no_contact(calling_user):
    (calling_user.directory / "thresher.toml").write_text("[project]\n")
    line = calling_user.run("run", seeds(calling_user), "--out", "out", code=2).line
    assert "project.contact is not set" in line


def test_an_unknown_key_names_the_nearest_known_one(calling_user):
    (calling_user.directory / "thresher.toml").write_text("[crawler]\nmin_dealy = 2\n")
    line = calling_user.run("status", code=2).line
    assert "crawler.min_dealy" in line
    assert "'min_delay'" in line


def test_an_output_directory_with_other_files_is_left_as_it_is(calling_user):
    out = calling_user.directory / "out"
    out.mkdir()
    (out / "thesis.doc").write_text("mine")
    line = calling_user.run("run", seeds(calling_user), "--out", out, code=2).line
    assert "holds other files" in line
    assert [path.name for path in out.iterdir()] == ["thesis.doc"]


@pytest.mark.parametrize("content", ["{}", "not json", ""])
def test_a_tokenizer_file_that_is_none(calling_user, content):
    path = calling_user.directory / "tokenizer.json"
    path.write_text(content)
    line = calling_user.run("run", seeds(calling_user), "--out", "out", "--tokenizer", path, code=2).line
    assert "tokenizer.json" in line


def test_redis_that_cannot_be_reached(calling_user):
    toml = (calling_user.directory / "thresher.toml").read_text()
    (calling_user.directory / "thresher.toml").write_text(
        toml.replace("[project]", '[project]\nredis = "redis://127.0.0.1:1/0"')
    )
    line = calling_user.run("run", seeds(calling_user), "--out", "out", code=2).line
    assert "127.0.0.1:1" in line


def test_with_json_the_error_is_one_object(calling_user):
    said = calling_user.run("crawl", "nobody", "--json", code=2)
    assert "nobody" in said.json["error"]


def test_a_crawl_that_was_never_seeded(calling_user):
    assert "thresher seed" in calling_user.run("crawl", "nobody", code=2).line


@pytest.mark.parametrize(
    "words",
    [
        ("seed", "http://127.0.0.1:9/"),
        ("crawl",),
        ("ingest", "books", "texts"),
        ("process",),
        ("export", "--out", "out", "--tokenizer", "tokenizer.json"),
        ("report",),
        ("status",),
        ("verify",),
        ("catalog", "rebuild"),
        ("frontier", "resume", "main", "example.org"),
    ],
)
def test_outside_a_project_a_command_says_so_and_makes_nothing(calling_user, words):
    (calling_user.directory / "thresher.toml").unlink()
    line = calling_user.run(*words, code=2).line
    assert f"{calling_user.directory}: no project here" in line
    assert f"thresher init {calling_user.directory}" in line
    assert list(calling_user.directory.iterdir()) == []


def test_verify_that_finds_nothing_says_so(calling_user):
    said = calling_user.run("verify", "--json", code=2)
    assert "nothing is sealed in the storage" in said.json["error"]
    assert "project.storage" in said.line


def test_a_source_that_is_not_there(calling_user):
    for command in (("process", "nobody"), ("dedup", "nobody"), ("report", "nobody")):
        assert "nobody" in calling_user.run(*command, code=2).line


def test_init_leaves_an_existing_file_alone(calling_user):
    before = (calling_user.directory / "thresher.toml").read_bytes()
    assert "was not changed" in calling_user.run("init", calling_user.directory, code=2).line
    assert (calling_user.directory / "thresher.toml").read_bytes() == before


def test_every_command_has_help_with_an_example_and_a_line_that_fits(calling_user):
    page = (Path(__file__).parents[2] / "docs" / "reference" / "commands.md").read_text()
    names = re.findall(r"^## (.+)$", page, re.MULTILINE)
    assert {"init", "run", "log", "show", "frontier hosts", "catalog rebuild"} <= {*names}
    assert page.count("Example:\n    thresher") == len(names) + 1  # and of `thresher --help`
    commands = page.partition("Commands:\n")[2].partition("```")[0]
    assert "..." not in commands, "the first line of a help is cut off"


def test_the_project_may_be_named_before_the_verb_and_behind_it(calling_user):
    name = str(calling_user.directory)
    elsewhere = replace(calling_user, directory=calling_user.directory.parent)
    for words in (("--project", name, "status"), ("status", "--project", name)):
        assert elsewhere.run(*words, "--json").json["sources"] == []
    assert "/nowhere" in elsewhere.run("--project", "/nowhere", "status", code=2).line


def test_the_version_is_told(user):
    assert re.match(r"thresher \d+\.\d+\.\d+\nCPython 3\.\d+", user.run("--version").out)
    assert "3    the crawl is drained, and some of its pages failed" in user.run("--help").out


def test_an_s3_server_that_does_not_answer_is_told_within_ten_seconds(calling_user, monkeypatch):
    toml = (calling_user.directory / "thresher.toml").read_text()
    (calling_user.directory / "thresher.toml").write_text(
        toml.replace("[project]", '[project]\nstorage = "s3://bucket/prefix"')
    )
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "any")
    with socket.socket() as silent:  # it takes connections, and answers nothing
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        where = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", where)
        begun = time.monotonic()
        line = calling_user.run("status", code=2).line
    assert f"s3://bucket/prefix at {where} has not answered for 10 s" in line
    assert "correct AWS_ENDPOINT_URL_S3" in line
    assert time.monotonic() - begun < 40  # ten seconds, and as long as a busy machine takes for the rest
