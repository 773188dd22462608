"""Common Crawl from the command line: what is typed, what is said, and that it can be typed again."""

import pytest

from tests.commoncrawl import write_crawl
from tests.commoncrawl_server import ErrorResponse, serve_files
from tests.end_to_end.conftest import CallingUser
from thresher import Project
from thresher.pipeline.inputs.commoncrawl_selection import SelectionSummary

ADDRESS = "commoncrawl:CC-MAIN-2024-22"


@pytest.fixture
def user(user):
    """`tests/end_to_end/test_dumps.py` starts the command; these commands run in the process of the test."""
    return CallingUser(user.directory)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("commoncrawl")
    write_crawl(root)
    return root


@pytest.fixture
def theirs(tree, user):
    with serve_files(tree) as server:
        with (user.directory / "thresher.toml").open("a") as file:
            file.write(f'[ingest]\ncommoncrawl = "{server.base}"\n')
        yield server


def test_single_records_of_domains_become_documents(user, theirs):
    (user.directory / "domains.txt").write_text("# ours\nother.net\n\nxyz.test\n")
    words = (
        "ingest",
        "docs",
        ADDRESS,
        "--domains",
        "domains.txt",
        "--domain",
        "docs.example.org",
        "--language",
        "eng",
    )
    first = user.run(*words, "--json").json
    assert first == {"found": 23, "known": 0, "added": 23, "files": 1, "unusable": {}}
    said = user.run(*words)
    assert said.out == "docs: 23 records found, 23 of them known, 0 added in 0 archive files\n"
    again = Project(user.directory).ingest(
        "docs",
        ADDRESS,
        domains=user.directory / "domains.txt",
        domain="docs.example.org",
        language=["eng"],
    )
    assert (again.added, again.selection) == (0, SelectionSummary(found=23, known=23))
    assert user.run("process", "docs", "--json").json["made"] == 1


def test_whole_files_of_a_crawl_and_what_cannot_be_had_of_it(user, theirs):
    theirs.plan = lambda asked: ErrorResponse(404, "NoSuchKey") if "00001.warc.wet" in asked.path else None
    said = user.run("ingest", "texts", f"{ADDRESS}/wet", "--json", code=2)
    assert (said.json["added"], len(said.json["refused"])) == (2, 1)
    assert "00001.warc.wet.gz: there is no such file" in said.line
    theirs.plan = lambda asked: None
    again = user.run("ingest", "texts", f"{ADDRESS}/wet", "--json").json
    assert (again["added"], again["known"], again["refused"]) == (1, 2, [])


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ((ADDRESS, "--language", "eng"), "give --domain or --url-prefix"),
        (("thresher.toml", "--domain", "example.org"), "give commoncrawl:CC-MAIN-... with them"),
        ((ADDRESS, "--text-column", "body"), "options are not for Common Crawl; leave them out"),
    ],
)
def test_what_cannot_be_meant_is_one_line_and_exit_code_2(user, theirs, words, line):
    assert line in user.run("ingest", "x", *words, code=2).line
