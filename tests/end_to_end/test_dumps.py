"""Dumps of Wikipedia and Stack Exchange, as a user brings them in."""

import bz2

import pytest

from tests.storage.dumps import page, posts, revision, row, wiki
from thresher.storage.warc.records import read_records

WIKI = wiki(
    page("Harbour light", revision("A '''harbour light''' shows the way in."), id_=12),
    page("Light", revision("#REDIRECT [[Harbour light]]"), redirect="Harbour light"),
    page("Template:Box", revision("box"), ns=10),
)
POSTS = posts(
    row(1, Title="How to moor?", AcceptedAnswerId=3, body="<p>How?</p>"),
    row(2, 2, ParentId=1, body="<p>Slowly.</p>"),
    row(3, 2, ParentId=1, body="<p>With a rope.</p>"),
)


@pytest.fixture
def user(calling_user):
    return calling_user


def archived(user, source):
    (path,) = (user.directory / "data" / "warc" / source).glob("*.warc.gz")
    with path.open("rb") as file:
        return [record for record in read_records(file, name=path.name) if record.type == "resource"]


def test_articles_of_a_wikipedia_dump_lie_in_the_archive(user):
    (user.directory / "anwiki.xml.bz2").write_bytes(bz2.compress(WIKI[:700]) + bz2.compress(WIKI[700:]))
    said = user.run("ingest", "wiki", "anwiki.xml.bz2", "--json").json
    assert (said["added"], said["entries"]) == (1, 1)
    assert said["unusable"] == {"other_namespace": 1, "redirect": 1}
    (record,) = archived(user, "wiki")
    assert record.url == "https://en.wikipedia.org/wiki/Harbour_light"
    assert (record.mime, record.date_ms) == ("text/x-wiki", 1767323045000)
    assert record.facts["title"] == "Harbour light"


def test_questions_of_a_stack_exchange_dump_lie_in_the_archive(user):
    site = user.directory / "unix.stackexchange.com"
    site.mkdir()
    (site / "Posts.xml").write_bytes(POSTS)
    assert user.run("ingest", "qa", "unix.stackexchange.com/Posts.xml", "--json").json["entries"] == 1
    (record,) = archived(user, "qa")
    assert record.url == "https://unix.stackexchange.com/questions/1"
    assert record.payload.index(b"rope") < record.payload.index(b"Slowly")
    assert record.facts["from"] == "unix.stackexchange.com/Posts.xml"


def test_what_lacks_its_site_or_must_be_unpacked_is_refused_with_the_remedy(user):
    (user.directory / "Posts.xml").write_bytes(POSTS)
    (user.directory / "qa.7z").write_bytes(b"7z\xbc\xaf\x27\x1c" + bytes(100))
    said = user.run("ingest", "qa", "Posts.xml", "qa.7z", "--json", code=2)
    without_site, packed = (refused["reason"] for refused in said.json["refused"])
    assert "--site HOST" in without_site
    assert "7z x" in packed
    user.run("ingest", "qa", "Posts.xml", "--site", "qa.example.org")
    assert archived(user, "qa")[0].url == "https://qa.example.org/questions/1"
