"""Archives of other makes become records of ours: ARC, WACZ, and WARC that lies otherwise than a member a record."""

import gzip
import hashlib
import io
import json
import zipfile
from contextlib import suppress
from functools import partial

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.expect import expect
from tests.shared import shared_file
from tests.storage.captures import RECORD_ID, STARTED_MS, capture
from tests.storage.warc.test_records import lz4
from thresher.core import InputError
from thresher.storage.inputs import arc, wacz_input, warc_input
from thresher.storage.inputs.entry import HTTP_RESPONSE, CopiedRecord, InputRecord, UnusableRecord
from thresher.storage.inputs.file_slice import FileSlice
from thresher.storage.inputs.input_kinds import detect_kind, input_kinds
from thresher.storage.inputs.input_kinds import read_items as kind_items
from thresher.storage.warc.compression import gzip_member
from thresher.storage.warc.exchange_records import capture_records, warcinfo

compressed = partial(gzip.compress, mtime=0)
INFO = warcinfo("x.warc.gz", date_ms=STARTED_MS, fields={"software": "thresher"})
RECORDS = [INFO, *capture_records(capture(b"<p>" * 900), record_id=RECORD_ID)]
ROUND = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>one"
DESCRIBED = b"1 0 Test\nURL IP-address Archive-date Content-type Archive-length\n"


def unpacked(items):
    return [gzip.decompress(item.member) if isinstance(item, CopiedRecord) else item.reason for item in items]


def arc_record(url, block, *, date=b"20080430204825", length=None, more=b""):
    size = b"%d" % len(block) if length is None else length
    return b"%b 192.0.2.7 %b text/html%b %b\n%b\n" % (url, date, more, size, block)


FIRST = b"filedesc://x.arc 0.0.0.0 20080430204825 text/plain %d\n%b\n" % (len(DESCRIBED), DESCRIBED)
ARC = [
    FIRST,
    arc_record(b"dns:example.org", b"20080430204825\nexample.org. IN A 192.0.2.7\n"),
    arc_record(b"http://example.org/a b", ROUND),
    arc_record(b"http://example.org/2", ROUND.replace(b"one", b"two")),
]


def read_arc(data, first=0):
    return list(arc.read(io.BytesIO(data), "x.arc", first))


@pytest.mark.parametrize(
    "make",
    [b"".join, lambda parts: compressed(b"".join(parts)), lambda parts: b"".join(map(compressed, parts))],
    ids=["plain", "one member", "a member a record"],
)
def test_an_arc_gives_its_records_as_the_server_sent_them(make):
    found = read_arc(make(ARC))
    name, one, two = found
    assert (name.uri, name.mime) == ("dns:example.org", "text/html")
    assert (one.uri, one.mime, one.payload) == ("http://example.org/a b", HTTP_RESPONSE, ROUND)
    assert (one.date_ms, one.peer, two.place) == (1209588505000, "192.0.2.7", 2)
    for first in range(4):
        assert read_arc(make(ARC), first) == found[first:]


@pytest.mark.parametrize("make", [b"".join, lambda parts: b"".join(map(compressed, parts))])
def test_an_arc_clipped_at_any_byte_loses_only_what_was_cut(make):
    data, whole = make(ARC), read_arc(make(ARC))
    for cut in range(len(make(ARC[:1])), len(data)):
        good = [item for item in read_arc(data[:cut]) if isinstance(item, InputRecord)]
        assert good == whole[: len(good)]
        assert len(read_arc(data[:cut])) <= len(good) + 1
    for cut in range(len(make(ARC[:1]))):
        with suppress(InputError):
            assert all(not isinstance(item, InputRecord) for item in read_arc(data[:cut]))


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (arc_record(b"http://example.org/", b"x", length=b"-1"), "wrong_length"),
        (arc_record(b"http://example.org/", b"<p>\nx", length=b"abc"), "wrong_length"),
        (b"what is this\nand this\n", "not_a_record"),
        (arc_record(b"http://example.org/", ROUND, date=b"never"), "not_a_record"),
    ],
)
def test_what_is_bad_in_an_arc_costs_itself_alone(bad, reason):
    found = read_arc(b"".join([*ARC[:2], bad, *ARC[2:]]))
    assert [getattr(item, "reason", None) for item in found] == [None, reason, None, None]


def test_a_broken_member_of_an_arc_costs_itself_alone():
    members = [compressed(record) for record in ARC]
    broken = bytearray(members[2])
    broken[len(broken) // 2] ^= 0x55
    found = read_arc(b"".join([*members[:2], bytes(broken), members[3]]))
    assert [getattr(item, "reason", None) for item in found] == [None, "broken_compression", None]


def test_an_arc_of_version_2_has_five_fields_more():
    described = DESCRIBED.replace(
        b"Content-type", b"Content-type Result-code Checksum Location Offset Filename"
    )
    first = b"filedesc://x.arc 0.0.0.0 20080430204825 text/plain %d\n%b\n" % (len(described), described)
    record = arc_record(b"http://example.org/", ROUND, more=b" 200 abc - 1209 x.arc")
    (found,) = read_arc(first + record)
    assert (found.uri, found.payload) == ("http://example.org/", ROUND)


def test_a_gzip_member_with_one_record_is_copied_byte_for_byte():
    members = [gzip.compress(record, 9, mtime=1) for record in RECORDS]
    found = list(warc_input.read(io.BytesIO(b"".join(members)), "x"))
    assert [expect(CopiedRecord, item).member for item in found] == members


def dictionary(packed):
    made = zstandard.train_dictionary(
        4096, [record * 3 + bytes([n]) for n in range(99) for record in RECORDS]
    )
    data = made.as_bytes()
    frame = zstandard.compress(data) if packed else data
    compress = zstandard.ZstdCompressor(dict_data=made, write_checksum=True).compress
    return b"\x5d\x2a\x4d\x18%b%b" % (len(frame).to_bytes(4, "little"), frame), compress


def with_dictionary(records, packed=True):
    head, compress = dictionary(packed)
    return head + b"".join(map(compress, records))


LIES = {
    "plain": b"".join,
    "many in one gzip member": lambda records: compressed(b"".join(records)),
    "two, then one": lambda records: (
        compressed(b"".join(records[:2])) + b"".join(map(compressed, records[2:]))
    ),
    "many in one zstd frame": lambda records: zstandard.compress(b"".join(records)),
    "zstd with a dictionary": with_dictionary,
    "zstd with a plain dictionary": lambda records: with_dictionary(records, packed=False),
    "lz4": lambda records: b"".join(map(lz4, records)),
    "many in one lz4 frame": lambda records: lz4(b"".join(records)),
}


@pytest.mark.parametrize("lie", LIES)
def test_however_a_warc_lies_each_record_becomes_a_member_its_bytes_unchanged(lie):
    data = LIES[lie](RECORDS)
    file = io.BytesIO(data)
    assert detect_kind(file, "x.warc.zst", input_kinds()).is_warc
    found = list(warc_input.read(file, "x"))
    assert unpacked(found) == RECORDS
    for first in range(4):
        assert list(warc_input.read(file, "x", first)) == found[first:]


@pytest.mark.parametrize("lie", LIES)
def test_a_warc_that_lies_otherwise_clipped_at_any_byte_loses_only_what_was_cut(lie):
    data = LIES[lie](RECORDS)
    # Where nothing of the next record is there yet, nobody can know; an end of two empty lines may be missing.
    silent = {len(LIES[lie](RECORDS[:count])) - less for count in (1, 2, 3) for less in range(5)}
    for cut in range(len(data)):
        try:
            found = unpacked(warc_input.read(io.BytesIO(data[:cut]), "x"))
        except InputError:
            continue
        good = [record for record in found if isinstance(record, bytes)]
        assert good == RECORDS[: len(good)]
        assert len(found) > len(good) or cut in silent


def test_a_dictionary_that_is_none_is_refused():
    data = b"\x5d\x2a\x4d\x18\x04\0\0\0none" + zstandard.compress(INFO)
    with pytest.raises(InputError, match="the Zstandard dictionary at its beginning is broken"):
        list(warc_input.read(io.BytesIO(data), "x"))


def packaged(files, *, package=None, seal=True, wrong=""):
    """A WACZ of these files."""
    made = io.BytesIO()
    resources = [
        {
            "path": path,
            "hash": f"sha256:{hashlib.sha256(data + (b'.' if path == wrong else b'')).hexdigest()}",
        }
        for path, data in files.items()
    ]
    described = json.dumps({"profile": "data-package", "resources": resources}).encode()
    described = described if package is None else package
    digest = hashlib.sha256(described + (b"." if wrong == "datapackage.json" else b"")).hexdigest()
    with zipfile.ZipFile(made, "w") as archive:
        for number, (path, data) in enumerate(files.items()):
            archive.writestr(path, data, zipfile.ZIP_DEFLATED if number % 2 else zipfile.ZIP_STORED)
        if described:
            archive.writestr("datapackage.json", described)
        if seal:
            archive.writestr("datapackage-digest.json", json.dumps({"hash": f"sha256:{digest}"}))
    return made.getvalue()


MEMBERS = b"".join(map(gzip_member, RECORDS))
FILES = {
    "archive/b.warc.gz": MEMBERS,
    "archive/a.warc": INFO,
    "archive/c.warc.gz": compressed(INFO),
    "pages/pages.jsonl": b"{}\n",
}


def read_wacz(data, first=0):
    return list(wacz_input.read(io.BytesIO(data), "x.wacz", first))


def test_a_wacz_gives_the_records_of_its_warc_files_in_the_order_of_their_names():
    data = packaged(FILES)
    found = read_wacz(data)
    assert unpacked(found) == [INFO, *RECORDS, INFO]
    assert b"".join(item.member for item in found[1:4]) == MEMBERS
    assert [item.place for item in found] == list(range(5))
    for first in range(6):
        assert read_wacz(data, first) == found[first:]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"PK\x03\x04 and no more", "File is not a zip file"),
        (packaged(FILES, package=b""), "there is no datapackage.json in it"),
        (packaged(FILES, package=b"[1]", seal=False), "datapackage.json is no JSON object"),
        (packaged(FILES, package=b"{}", seal=False), "datapackage.json lists no resources"),
        (packaged(FILES, wrong="archive/a.warc"), "archive/a.warc is not as datapackage.json has it (its sha256 differs)"),
        (packaged(FILES, wrong="datapackage.json"), "datapackage.json is not as"),
        (packaged({"pages/pages.jsonl": b""}), "there is no WARC file in its archive/"),
        (
            packaged(FILES, package=b'{"resources": [{"path": "archive/z.warc", "hash": "sha256:0"}]}', seal=False),
            "datapackage.json names archive/z.warc, which is not in it",
        ),
        (
            packaged(FILES, package=b'{"resources": [{"path": "archive/a.warc", "hash": "crc:0"}]}', seal=False),
            "archive/a.warc has the digest 'crc:0', which is neither sha256 nor md5",
        ),
    ],
)  # fmt: skip
def test_a_wacz_that_is_not_valid_is_refused_with_what_is_wrong(data, said):
    with pytest.raises(InputError) as caught:
        read_wacz(data)
    assert said in str(caught.value)


def test_a_wacz_clipped_at_any_byte_is_refused():
    data = packaged(FILES)
    for cut in range(4, len(data)):
        with pytest.raises(InputError):
            read_wacz(data[:cut])


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "read", "good", "reasons"),
    [
        ("aut/example.arc.gz", arc.read, 299, []),
        ("warcio/bad.arc", arc.read, 1, ["wrong_length", "wrong_length"]),
        ("warcio/example.arc", arc.read, 1, []),
        ("ia-web-commons/IAH-20080430204825-00000-blackbook-truncated.arc", arc.read, 8, []),
        ("browsertrix/example.wacz", wacz_input.read, 15, []),
        ("pywb/valid_example_1.wacz", wacz_input.read, 4, []),
        ("warcio/example-bad.warc.gz.bad", warc_input.read, 6, []),
        ("warcio/example-trunc.warc", warc_input.read, 4, ["not_a_record"]),
    ],
)
def test_real_archives_are_read(name, read, good, reasons):
    with shared_file(f"archives/{name}").open("rb") as file:
        found = list(read(file, name, 0))
    assert [item.reason for item in found if not isinstance(item, InputRecord | CopiedRecord)] == reasons
    assert len(found) == good + len(reasons)


ARCHIVES = {
    "x.arc": b"".join(ARC),
    "x.arc.gz": b"".join(map(compressed, ARC)),
    "x.wacz": packaged(FILES),
    **{f"{lie}.warc": make(RECORDS) for lie, make in LIES.items()},
}


@pytest.mark.parametrize("name", ARCHIVES)
@given(data=st.data())
def test_no_byte_that_is_changed_can_raise_anything_but_a_refusal(name, data):
    made = bytearray(ARCHIVES[name])
    for at in data.draw(st.lists(st.integers(0, len(made) - 1), min_size=1, max_size=4)):
        made[at] = data.draw(st.integers(0, 255))
    file = io.BytesIO(made)
    with suppress(InputError):
        for item in kind_items(file, name, detect_kind(file, name, input_kinds())):
            if isinstance(item, CopiedRecord):
                gzip.decompress(item.member)


def test_a_wacz_that_claims_more_than_there_is_ends_where_it_ends():
    made = FileSlice(io.BytesIO(b"12345"), 3, 1 << 60)
    assert (made.seek(0, io.SEEK_END), made.seek(0), made.read()) == (2, 0, b"45")


BAD = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: none\r\n\r\nxx"
GOOD = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 2\r\n\r\nxx\r\n\r\n"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (BAD, "at byte 0 there is no record"),
        (compressed(BAD), "at byte 0 there is no record"),
        (compressed(BAD)[:30], "at byte 0 the file breaks off"),
        (compressed(GOOD + BAD), f"at byte 0 (byte {len(GOOD)} unpacked) there is no record"),
    ],
    ids=["plain", "gzip", "cut off", "behind another"],
)
def test_where_an_archive_holds_no_record_is_said_once(data, said):
    bad = [item for item in warc_input.read(io.BytesIO(data), "x") if isinstance(item, UnusableRecord)]
    assert [item.detail for item in bad] == [said]


def test_a_line_of_an_arc_file_that_begins_no_record_is_shown():
    data = b"filedesc://x 0.0.0.0 20200101000000 text/plain 5\n1 0 x\nno head at all\n"
    (bad,) = arc.read(io.BytesIO(data), "x")
    assert expect(UnusableRecord, bad).detail == "'no head at all': there is no record"
