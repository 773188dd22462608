"""What must be true of every file that a crawl has sealed, whatever the web did to it. Each check is a function of a
`CrawlRun`.
"""

import gzip
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from tests.hostile import warc
from tests.hostile.host import Exchange
from tests.hostile.observed import CrawlRun, final
from thresher.storage.warc.records import NO_HEAD, read_records

HOSTILE_ONLY = {
    "errors redirects and robots are kept too",
    "partial content is kept as such",
    "content encodings are kept",
    "payload digests are of the transfer decoded entity",
}
"""Checks that count things that only the hostile web has."""
Check = Callable[[CrawlRun], None]
CHECKS: dict[str, Check] = {}
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z")
PROFILES = "http://netpreserve.org/warc/1.1/revisit/"
TYPES = {"warcinfo", "request", "response", "revisit", "metadata", "resource", "conversion"}
TRUNCATIONS = {None, "length", "time", "disconnect", "unspecified"}


def check(make: Check) -> Check:
    """Register a function as a check, under its name in words."""
    CHECKS[make.__name__.replace("_", " ")] = make
    return make


def files(played: CrawlRun) -> list[Path]:
    """Return every sealed WARC file."""
    return warc.sealed(played.project.directory / "data")


def http(played: CrawlRun, *types: str) -> Iterator[warc.Record]:
    return (record for record in played.records if record.type in types)


def by_wire(played: CrawlRun) -> dict[str, list[Exchange]]:
    """Return what every host sent, by URL; without h2, whose frames are no message."""
    found = defaultdict(list)
    for row in played.web.rows:
        if row.tls != "h2":
            scheme, _, host = played.web.url(row).partition("://")
            for one in played.web.hosts[row.name].log:
                found[f"{scheme}://{one.header('host') or host}{one.path}"].append(one)
    return found


def entity(record: warc.Record) -> bytes | None:
    """Return the body after transfer decoding, by a strict decoder; None if the framing is incomplete."""
    head = record.http_head.lower()
    if not re.search(rb"^transfer-encoding:[ \t]*chunked[ \t]*\r?$", head, re.MULTILINE):
        return record.body if b"\ntransfer-encoding" not in head else None
    found, rest = b"", record.body
    while True:
        line, end, rest = rest.partition(b"\r\n")
        size = line.partition(b";")[0].strip()
        if not end or not re.fullmatch(rb"[0-9a-fA-F]{1,8}", size):
            return None
        if int(size, 16) == 0:
            return found
        found, rest = found + rest[: int(size, 16)], rest[int(size, 16) :]
        if not rest.startswith(b"\r\n"):
            return None
        rest = rest[2:]


@check
def every_record_is_a_member_of_its_own_and_ends_as_it_must(played):
    for path in files(played):
        for record in warc.read(path):
            assert record.rest == b"\r\n\r\n", (record.file, record.offset)
            assert int(record.get("Content-Length") or -1) == len(record.block)
            assert record.type in TYPES, record.type


@check
def nothing_is_half_visible(played):
    data = played.project.directory / "data"
    open_ = [path for path in data.rglob("*") if ".open" in path.parts and path.is_file()]
    assert not open_, open_
    assert files(played)


@check
def every_file_begins_with_its_warcinfo(played):
    for path in files(played):
        first = next(warc.read(path))
        assert first.type == "warcinfo"
        assert first.get("WARC-Filename") == path.name
        for word in (b"software:", b"format: WARC File Format 1.1", b"robots:", b"http-header-user-agent:"):
            assert word in first.block, word


@check
def record_ids_are_unique_and_uuids(played):
    ids = Counter(record.id for record in played.records)
    assert set(ids.values()) == {1}, [one for one, count in ids.items() if count > 1]
    assert all(re.fullmatch(r"<urn:uuid:[0-9a-f-]{36}>", one) for one in ids)


@check
def dates_are_of_the_crawl(played):
    for record in played.records:
        text = record.get("WARC-Date") or ""
        assert DATE.fullmatch(text), text
        at = datetime.fromisoformat(text).timestamp()
        assert played.begun - 1 <= at <= played.ended + 1, text


@check
def block_digests_are_of_the_blocks(played):
    for record in played.records:
        said = record.get("WARC-Block-Digest")
        if record.type in {"request", "response", "revisit", "metadata"}:
            assert said == warc.sha1(record.block), record.head


@check
def payload_digests_are_of_the_transfer_decoded_entity(played):
    judged = 0
    for record in http(played, "response"):
        decoded = entity(record)
        if decoded is not None:
            judged += 1
            assert record.get("WARC-Payload-Digest") == warc.sha1(decoded), (record.url, record.block[:300])
    assert judged > 300


@check
def every_response_has_its_request_and_says_so(played):
    """In either direction, as the standard requires."""

    def named(record):
        return {value for key, value in record.head if key.lower() == "warc-concurrent-to"}

    requests = {record.id: record for record in http(played, "request")}
    back = {one: record for record in requests.values() for one in named(record)}
    responses = list(http(played, "response", "revisit"))
    assert len(requests) >= len(responses)
    for record in responses:
        pairs = [requests[one] for one in named(record) if one in requests]
        if not pairs and record.id in back:
            pairs = [back[record.id]]
        assert any(one.url == record.url for one in pairs), record.head


@check
def requests_are_byte_for_byte_what_was_received(played):
    received = defaultdict(Counter)
    for row in played.web.rows:
        for one in played.web.hosts[row.name].log:
            received[row.name][one.raw] += 1
    for row in played.web.rows:
        if row.tls == "h2":
            continue
        records = [record.block for record in played.seen(row).records if record.type == "request"]
        assert not Counter(records) - received[row.name], row.name


@check
def responses_are_byte_for_byte_what_was_sent(played):
    sent = by_wire(played)
    whole = 0
    for record in http(played, "response"):
        if record.url.startswith("https:") and record.url not in sent:
            continue
        messages = [final(bytes(one.sent)) for one in sent[record.url]]
        exact = record.block in messages
        whole += exact
        assert exact or any(one.startswith(record.block) for one in messages), record.url
    assert whole > 500


@check
def what_is_shorter_than_was_sent_says_why(played):
    """Or the body was cut where its framing ends."""
    sent = by_wire(played)
    for record in http(played, "response"):
        assert record.get("WARC-Truncated") in TRUNCATIONS, record.head
        messages = [final(bytes(one.sent)) for one in sent.get(record.url, ())]
        if not messages or record.block in messages or record.get("WARC-Truncated"):
            continue
        length = re.search(rb"\ncontent-length:[ \t]*(\d+)", record.http_head.lower())
        chunked = b"transfer-encoding" in record.http_head.lower()
        framed = (length and len(record.body) == int(length[1])) or (chunked and entity(record) is not None)
        assert framed or record.status in {101, 204, 304}, (record.url, record.block[:200])


@check
def heads_keep_case_order_and_duplicates(played):
    wanted = {
        "header names in strange cases, twice and unsorted": b"x-B: 1\r\nX-a: 2\r\nX-B: 3\r\nx-b:4\r\n",
        "a folded header": b"X-Folded: one\r\n  two\r\n\tthree\r\n",
        "headers in no ASCII": "X-Näme: Größe\r\n".encode() + b"X-Latin: \xe9\xff\r\n",
        "a header with NUL": b"X-Nul: a\0b\r\n",
        "line ends of both kinds": b"X-One: 1\nX-Two: 2\r\n",
        "headers with blanks at their ends": b"X-Blank:   \t spaced \t  \r\nX-Empty:\r\n",
        "a header without a colon": b"this is no header\r\n",
    }
    for name, lines in wanted.items():
        row = played.row_of.get(name)
        assert row is None or lines in played.seen(row).response("/bad").block, name


@check
def content_encodings_are_kept(played):
    found = Counter()
    for record in http(played, "response"):
        if b"\r\ncontent-encoding: gzip\r\n" in record.http_head.lower() and record.body[:2] == b"\x1f\x8b":
            found["gzip"] += 1
        if b"\r\ncontent-encoding: br\r\n" in record.http_head.lower():
            found["br"] += 1
    assert found["gzip"] >= 3
    assert found["br"] >= 1, found


@check
def no_record_of_what_never_answered(played):
    for record in http(played, "response"):
        assert record.block, record.head
        assert len(record.http_head) > 12, record.block[:50]


@check
def addresses_are_those_of_the_hosts(played):
    """As the URL says, or as DNS answers for its name."""
    names = {row.host: [played.web.hosts[row.name].address] for row in played.web.rows if row.host}
    names |= {name: said for name, said in played.web.names.items() if isinstance(said, list)}
    for record in http(played, "request", "response", "revisit"):
        host = urlsplit(record.url).hostname or ""
        said = record.get("WARC-IP-Address")
        assert said
        assert ip_address(said) in map(ip_address, names.get(host, [host])), record.head


@check
def targets_are_the_urls_that_were_asked(played):
    for record in http(played, "request"):
        if record.url.startswith("http:"):
            target = record.block.split(b" ", 2)[1].decode("latin-1")
            assert record.url == "/".join(record.url.split("/")[:3]) + target, (record.url, target)


@check
def errors_redirects_and_robots_are_kept_too(played):
    statuses = Counter(record.status for record in http(played, "response"))
    for status in (200, 301, 302, 404, 403, 429, 500, 503):
        assert statuses[status], f"no {status}"
    assert any(record.url.endswith("/robots.txt") for record in http(played, "response"))


@check
def partial_content_is_kept_as_such(played):
    statuses = Counter(record.status for record in http(played, "response"))
    assert statuses[206] == 2, statuses[206]


@check
def revisits_lead_to_responses_that_are_there(played):
    responses = {(record.url, record.get("WARC-Date")): record for record in http(played, "response")}
    for record in http(played, "revisit"):
        original = responses[record.get("WARC-Refers-To-Target-URI") or "", record.get("WARC-Refers-To-Date")]
        assert record.get("WARC-Refers-To") in {None, original.id}
        profile = (record.get("WARC-Profile") or "").removeprefix(PROFILES)
        assert profile in {"identical-payload-digest", "server-not-modified"}, record.head
        if profile == "identical-payload-digest":
            assert record.get("WARC-Payload-Digest") == original.get("WARC-Payload-Digest")
            assert record.status == original.status, record.head


@check
def the_index_leads_to_every_response(played):
    rows = {}
    for path in (played.project.directory / "data").rglob("*.cdxj*"):
        data = path.read_bytes()
        for line in (gzip.decompress(data) if path.suffix == ".gz" else data).decode().splitlines():
            if line[:1] == "!":
                continue
            _, stamp, found = line.split(" ", 2)
            found = json.loads(found)
            rows[found["filename"].rpartition("/")[2], int(found["offset"])] = stamp, found
    assert rows
    for record in http(played, "response", "revisit"):
        assert (record.file, record.offset) in rows, record.url
        stamp, found = rows[record.file, record.offset]
        assert int(found["length"]) == record.length
        assert found["url"] == record.url
        assert stamp[:14] == re.sub(r"\D", "", record.get("WARC-Date") or "")[:14]
        digest = record.get("WARC-Payload-Digest") or ""
        assert found.get("digest", "").removeprefix("sha1:") == digest.removeprefix("sha1:")


@check
def fastwarc_checks_every_file(played):
    for path in files(played):
        command = [str(Path(sys.executable).parent / "fastwarc"), "check", str(path)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]


@check
def warcio_reads_every_record(played):
    from warcio.archiveiterator import ArchiveIterator

    count = 0
    for path in files(played):
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                count += 1
                record.raw_stream.read()
    assert count == len(played.records)


@check
def thresher_verifies_it(played):
    done = played.project.run("verify")
    assert not [value for key, value in done.items() if key in {"problems", "faults", "damaged"} and value], (
        done
    )


@check
def thresher_reads_every_head(played):
    statuses = {record.id: record.status for record in http(played, "response")}
    for path in files(played):
        with path.open("rb") as file:
            for record in read_records(file, name=path.name):
                if record.type == "response":
                    assert record.problem != NO_HEAD, record.url
                    assert record.status == statuses[f"<{record.record_id}>"], (record.url, record.status)


@check
def gzip_alone_can_read_every_file(played):
    for path in files(played):
        if path.suffix == ".gz":
            assert gzip.decompress(path.read_bytes()).startswith(b"WARC/1.1\r\n")


@check
def what_was_spoken_stands_in_the_record(played):
    """`WARC-Protocol` names h1, h2 and TLS."""
    for record in http(played, "response"):
        said = [value for key, value in record.head if key.lower() == "warc-protocol"]
        assert said, record.url
        assert not record.url.startswith("https:") or any(one.startswith("tls/") for one in said), said


@check
def what_a_page_links_to_stands_in_metadata(played):
    metadata = [record for record in http(played, "metadata") if b"outlink" in record.block]
    assert metadata


@check
def no_record_has_bytes_of_another_exchange(played):
    for record in http(played, "response"):
        if b"SMUGGLED" in record.block:
            decoded = entity(record)
            assert decoded is not None
            assert b"SMUGGLED" in decoded, record.url
