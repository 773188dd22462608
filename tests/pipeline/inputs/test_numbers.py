"""The numbers of archived, processed and reported records agree for all kinds of records."""

import gzip
import json
from collections import Counter

import pyarrow.parquet as pq
import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.end_to_end.conftest import TOML, CallingUser
from tests.shared import shared_file
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import manifests

WORDS = " ".join(f"Sentence {n} of a page has enough words to be taken for a text." for n in range(20))
PAGE = f"<html><body><p>{WORDS}</p></body></html>".encode()


def record(kind, url, block, mime, *more):
    head = [
        "WARC/1.1",
        f"WARC-Type: {kind}",
        f"WARC-Target-URI: {url}",
        "WARC-Date: 2026-01-02T03:04:05Z",
        f"Content-Type: {mime}",
        f"Content-Length: {len(block)}",
        *more,
    ]
    return gzip.compress("\r\n".join(head).encode() + b"\r\n\r\n" + block + b"\r\n\r\n", mtime=0)


def response(url, *more):
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + PAGE
    return record("response", url, http, "application/http; msgtype=response", *more)


def broken(member):
    return member[: len(member) // 2] + b"\0\0\0\0" + member[len(member) // 2 + 4 :]


MIXED = {
    "Http": (record("resource", "Http://example.org/1", PAGE, "text/html"), "keep"),
    "HTTPS": (record("resource", "HTTPS://EXAMPLE.org/2", PAGE, "text/html"), "keep"),
    "ftp": (record("resource", "FTP://example.org/3", PAGE, "text/html"), "keep"),
    "response": (response("HTTPS://example.org/4"), "keep"),
    "main page": (response("https://example.org/5", "WARC-Resource-Type: document"), "keep"),
    "part": (response("https://example.org/app.js", "WARC-Resource-Type: script"), "early/page_part"),
    "note": (
        record("resource", "urn:pageinfo:https://example.org/", b"{}", "text/html"),
        "early/crawler_note",
    ),
    "DOM": (record("conversion", "urn:dom:https://example.org/", PAGE, "text/html"), "early/conversion"),
    "text": (record("conversion", "https://example.org/6", WORDS.encode(), "text/plain"), "keep"),
    "damaged": (broken(response("https://example.org/7")), "early/damaged"),
    "dns": (record("response", "dns:example.org", b"127.0.0.1", "text/dns"), "early/status"),
    "request": (
        record("request", "https://example.org/8", b"GET / HTTP/1.1\r\n\r\n", "application/http"),
        None,
    ),
    "metadata": (record("metadata", "https://example.org/9", b"a: b\r\n", "application/warc-fields"), None),
}
"""Each kind of record with its fate; None of those that cannot hold a page."""


@pytest.fixture(scope="module")
def user(tmp_path_factory):
    """Whatever is in the archives, in three sources: made here, and others' from the folder where it is."""
    directory = tmp_path_factory.mktemp("numbers")
    (directory / "thresher.toml").write_text(
        TOML.replace('"gopher"', '"none"').replace('languages = ["en", "de", "fr", "es"]', "languages = []")
    )
    (directory / "mixed.warc.gz").write_bytes(b"".join(member for member, _ in MIXED.values()))
    (directory / "rows.jsonl").write_text(
        "".join(
            json.dumps({"text": f"{WORDS} {n}", "url": url}) + "\n"
            for n, url in enumerate(["HTTPS://e.org/a", "http://e.org/b c", " http://e.org/d\te ", "none"])
        )
    )
    user = CallingUser(directory)
    user.run("ingest", "made", "mixed.warc.gz", "rows.jsonl")
    return user


@pytest.fixture(scope="module")
def summaries(user: CallingUser):
    """What each ingest said of the records that are to be processed."""
    again = {"made": user.run("ingest", "made", "mixed.warc.gz", "rows.jsonl", "--json").json["entries"]}
    try:
        folder = shared_file("archives")
    except pytest.skip.Exception:
        folder = None
    if folder is not None:
        done = user.run("ingest", "others", folder, "--json", code=2)  # some of the folder is no archive
        again["others"] = done.json["entries"]
    user.run("process")
    return again


def test_every_kind_of_record_has_its_fate(user: CallingUser, summaries):
    (manifest,) = (
        each
        for each in manifests(DirectoryStore(user.directory / "data"), "process", "made")
        if "mixed" in each.part
    )
    found = {name: count for name, count in manifest.counts.items() if name.endswith(".documents")}
    expected = Counter(f"{fate}.documents" for _, fate in MIXED.values() if fate is not None)
    assert found == expected


def test_an_address_with_a_space_or_capitals_is_kept_and_escaped(user: CallingUser, summaries):
    urls = {
        row["url"]: row["record_file"]
        for path in (user.directory / "data" / "documents" / "made").glob("*rows*.parquet")
        for row in pq.read_table(path, columns=["url", "record_file"]).to_pylist()
    }
    assert set(urls) == {
        "HTTPS://e.org/a",
        "http://e.org/b%20c",
        "http://e.org/de",
        "file:rows.jsonl#line=4",
    }


def test_summary_status_verdicts_and_report_say_the_same_number(user: CallingUser, summaries):
    status = {source["name"]: source for source in user.run("status", "--json").json["sources"]}
    for name, entries in summaries.items():
        report = user.run("report", name, "--json").json
        rows = sum(
            pq.read_metadata(path).num_rows
            for path in (user.directory / "data" / "verdicts" / name).glob("*.parquet")
        )
        said = (status[name]["archived"], status[name]["processed"], report["records"], rows)
        assert said == (entries, entries, entries, entries)
        assert sum(stage["documents"] for stage in report["stages"]) == entries
        assert abs(sum(stage["share"] for stage in report["stages"]) - 1) < 1e-9
        kept = next(stage for stage in report["stages"] if stage["stage"] == "kept")
        assert kept["documents"] == status[name]["kept"] > 0


def test_another_reader_counts_as_many(user: CallingUser, summaries):
    counted = Counter()
    for path in sorted((user.directory / "data" / "warc" / "made").glob("rows*.warc.gz")):
        with path.open("rb") as file:
            counted.update(record.rec_type for record in ArchiveIterator(file))
    mixed = sum(fate is not None for _, fate in MIXED.values())
    assert counted["resource"] + mixed == summaries["made"]
