"""Seeds are read from what users have: lists, CSVs, sitemaps, compressed or not."""

import bz2
import gzip
import io
import json
import os
import tarfile

import pytest
import zstandard

from tests.shared import read_tar_file, shared_file
from thresher.core import InputError, Url
from thresher.frontier import canonicalize
from thresher.pipeline.crawls import seed_files
from thresher.pipeline.crawls.seed import SeedPlan, _discoveries

LIST = b"# comment\nhttp://example.org/a\n\n  https://example.org/b  \nno url\nftp://example.org/\n"


def read(path, data, name="seeds.txt"):
    (path / name).write_bytes(data)
    return list(seed_files.read_seeds(str(path / name)))


def texts(found):
    return [seed.text for seed in found if isinstance(seed, Url)]


def test_a_plain_list_with_comments_and_blank_lines(tmp_path):
    found = read(tmp_path, LIST)
    assert texts(found) == ["http://example.org/a", "https://example.org/b"]


def test_what_is_listed_is_no_trap_whatever_it_looks_like(tmp_path):
    assert texts(read(tmp_path, b"http://example.org/a/b/a/b/a/b/c\n")) == [
        "http://example.org/a/b/a/b/a/b/c"
    ]
    (seed,) = _discoveries([canonicalize("http://example.org/")], SeedPlan(crawl="c"))
    assert seed.listed


def test_a_line_that_is_no_url_is_refused_with_its_number_and_the_others_go_on(tmp_path):
    refused = [seed for seed in read(tmp_path, LIST) if not isinstance(seed, Url)]
    assert [seed.line for seed in refused] == [5, 6]
    assert "line 5: 'no url' is no URL" in str(refused[0])


@pytest.mark.parametrize("name", ["s.txt", "s", "s.gz", "s.zst"])
@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress, bz2.compress, bytes])
def test_the_compression_of_a_list_is_recognised_by_its_bytes_and_not_by_its_name(tmp_path, name, pack):
    assert len(texts(read(tmp_path, pack(LIST), name))) == 2


def test_a_csv_with_a_url_column(tmp_path):
    found = read(tmp_path, b'rank,URL,note\n1,http://example.org/a,x\n2,"http://example.org/b?x=1,2",y\n')
    assert texts(found) == ["http://example.org/a", "http://example.org/b?x=1,2"]


def test_a_sitemap(tmp_path):
    found = read(
        tmp_path,
        b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        b"<url><loc>http://example.org/a</loc></url><url><loc> http://example.org/b </loc></url></urlset>",
    )
    assert texts(found) == ["http://example.org/a", "http://example.org/b"]


def test_of_an_index_the_sitemaps_are_taken_for_what_they_list(tmp_path):
    index = b"<sitemapindex><sitemap><loc>http://example.org/s1.xml</loc></sitemap></sitemapindex>"
    (found,) = read(tmp_path, index)
    assert found == seed_files.SitemapSeed(url=canonicalize("http://example.org/s1.xml"))
    (seed,) = _discoveries([found], SeedPlan(crawl="c", scope="host", max_depth=0))
    assert (seed.state.kind, seed.depth, seed.max_depth, seed.listed) == ("seeds", 0, 0, True)


def test_one_url_is_a_seed_itself():
    assert texts(seed_files.read_seeds("http://example.org/")) == ["http://example.org/"]


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"", "is empty"), (b"\n \n", "is empty"), (b"\x7fELF\0\0", "binary"), (b"\xff\xfe\xfa" * 99, "binary")],
)
def test_a_file_without_text_is_refused_in_one_line(tmp_path, data, said):
    with pytest.raises(InputError, match=said) as refusal:
        read(tmp_path, data)
    assert "\n" not in str(refusal.value)


def test_a_character_cut_by_the_end_of_the_first_look_is_no_sign_of_a_binary(tmp_path):
    for length in range(4090, 4100):
        assert len(texts(read(tmp_path, b"http://example.org/" + b"a" * (length - 19) + "é\n".encode()))) in {
            0,
            1,
        }


@pytest.mark.parametrize(
    "pack", [lambda data: gzip.compress(data, mtime=0), zstandard.ZstdCompressor().compress, bz2.compress]
)
def test_of_a_packed_list_that_breaks_off_every_whole_line_is_a_seed(tmp_path, pack):
    lines = [f"http://example.org/{n}" for n in range(50_000)]
    (tmp_path / "s").write_bytes(pack("\n".join(lines).encode())[:-2000])
    found = []
    with pytest.raises(InputError, match=r"breaks off \(its compression ends before its end\)"):
        found.extend(seed_files.read_seeds(str(tmp_path / "s")))
    assert texts(found) == lines[: len(found)]


def test_a_list_that_breaks_its_own_format_is_an_error_in_one_line(tmp_path):
    data = b'url\n"http://example.org/' + b"a" * 200_000
    with pytest.raises(InputError) as refusal:
        read(tmp_path, data)
    assert "\n" not in str(refusal.value)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        seed_files.read_seeds(str(tmp_path / "absent.txt"))


def test_a_packed_file_without_any_text_is_refused_in_one_line(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path, gzip.compress(b"http://example.org/")[:8])


def test_a_directory_is_refused(tmp_path):
    with pytest.raises(InputError, match="Is a directory"):
        seed_files.read_seeds(str(tmp_path))


@pytest.mark.parametrize("before", [0, 5_000])
def test_octets_that_are_no_utf8_are_asked_for_as_they_are_and_no_other_line_pays(tmp_path, before):
    data = (
        b"http://example.org/x\n" * before
        + b"# Gr\xf6\xdfe\nhttp://example.org/caf\xe9\nhttp://example.org/caf\xc3\xa9\n"
    )
    assert texts(read(tmp_path, data))[before:] == [
        "http://example.org/caf%E9",
        "http://example.org/caf%C3%A9",
    ]
    (refused,) = read(tmp_path, b"http://caf\xe9.example.org/\n")
    assert isinstance(refused, seed_files.RefusedLine)


def test_a_line_with_a_control_character_is_refused_and_the_others_go_on(tmp_path):
    data = b"http://example.org/a\n" * 5_000 + b"http://example.org/\0b\nhttp://example.org/c\n"
    found = read(tmp_path, data)
    assert len(texts(found)) == 5_001
    (refused,) = (seed for seed in found if isinstance(seed, seed_files.RefusedLine))
    assert (refused.line, refused.reason) == (5_001, "a control character in it")


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_a_list_as_windows_writes_it(tmp_path, codec):
    mark = {"utf-16-le": "\ufeff", "utf-16-be": "\ufeff"}.get(codec, "")
    data = (mark + "http://example.org/é\r\nhttp://example.org/b\r\n").encode(codec)
    assert texts(read(tmp_path, data)) == ["http://example.org/%C3%A9", "http://example.org/b"]


def test_a_list_with_the_line_ends_of_an_old_mac(tmp_path):
    assert len(texts(read(tmp_path, b"http://example.org/a\rhttp://example.org/b\r"))) == 2


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_table_with_a_url_column_whatever_separates_its_columns(tmp_path, delimiter):
    rows = [
        ["rank", "URL", "note"],
        ["1", "http://example.org/a", "x"],
        ["2", '"http://example.org/b?x=1;2,3|4"', ""],
    ]
    data = "\n".join(delimiter.join(row) for row in rows).encode()
    assert texts(read(tmp_path, data)) == [
        "http://example.org/a",
        canonicalize("http://example.org/b?x=1;2,3|4").text,
    ]


def test_of_a_table_with_one_column_a_url_is_whole(tmp_path):
    data = b'url\nhttp://example.org/a,1\n"http://example.org/b,2"\n'
    assert texts(read(tmp_path, data)) == ["http://example.org/a,1", "http://example.org/b,2"]


def test_of_a_line_with_tabs_the_url_is_taken_and_nothing_else(tmp_path):
    data = b"global\tNEWS\thttp://example.org/a\nhttp://example.org/b\ta comment\nno\turl\n"
    found = read(tmp_path, data)
    assert texts(found) == ["http://example.org/a", "http://example.org/b"]
    assert [seed.text for seed in found if isinstance(seed, seed_files.RefusedLine)] == ["no\turl"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"1,http://example.org/a\n2,http://example.org/b\n", "without column names"),
        (b"rank;link\n1;http://example.org/a\n", "with the columns rank, link"),
        (b"<!doctype html><html><a href=http://example.org/>x</a></html>", "an HTML page"),
    ],
)
def test_what_might_be_meant_otherwise_is_refused_in_one_line(tmp_path, data, said):
    with pytest.raises(InputError, match=said) as refusal:
        read(tmp_path, data)
    assert "\n" not in str(refusal.value)


def test_a_line_without_end_takes_no_memory_and_is_refused(tmp_path):
    data = b"http://example.org/a\nhttp://example.org/" + b"x" * 10_000_000 + b"\nhttp://example.org/b\n"
    found = read(tmp_path, data)
    assert texts(found) == ["http://example.org/a", "http://example.org/b"]
    assert [len(seed.text) < 200_000 for seed in found if isinstance(seed, seed_files.RefusedLine)] == [True]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input_is_read_like_a_file(monkeypatch, pack):
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "wb") as pipe:
        pipe.write(pack(LIST))
    with os.fdopen(read_end, "rb") as stream:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stream))
        assert len(texts(seed_files.read_seeds("-"))) == 2


def unpacked(name):
    return zstandard.ZstdDecompressor().stream_reader(shared_file(name).read_bytes()).read()


@pytest.mark.shared
def test_a_real_table_without_names_of_its_columns(tmp_path):
    data = unpacked("urls/citizenlab-urls.tsv.zst")
    found = read(tmp_path, data, "urls.tsv.zst")
    lines = [line.split("\t")[2].strip() for line in data.decode().split("\n") if line]
    refused = [seed for seed in found if isinstance(seed, seed_files.RefusedLine)]
    assert len(found) == len(lines) > 22_000
    assert len(refused) < 10
    assert texts(found)[0] == canonicalize(lines[0]).text


@pytest.mark.shared
@pytest.mark.parametrize("name", ["sitemap.xml", "sitemap.xml.gz", "feed1.atom", "feed2.rss"])
def test_real_sitemaps_and_feeds(tmp_path, name):
    with tarfile.open(fileobj=io.BytesIO(unpacked("robots/sitemaps-feeds-robots-cases.tar.zst"))) as tar:
        data = read_tar_file(tar, f"trafilatura/tests/resources/{name}")
    assert len(texts(read(tmp_path, data, "seeds"))) == (84 if "sitemap" in name else 1)


def envelope(kind, url, links=(), base=""):
    page = {"Head": {"Base": base} if base else {}, "Links": links}
    said = {
        "Envelope": {
            "WARC-Header-Metadata": {"WARC-Type": kind, "WARC-Target-URI": url},
            "Payload-Metadata": {"HTTP-Response-Metadata": {"HTML-Metadata": page}},
        }
    }
    block = json.dumps(said).encode()
    head = f"WARC/1.0\r\nWARC-Type: metadata\r\nWARC-Target-URI: {url}\r\nContent-Type: application/json\r\n"
    return gzip.compress(head.encode() + b"Content-Length: %d\r\n\r\n%b\r\n\r\n" % (len(block), block))


WAT = (
    envelope("request", "http://example.org/")
    + envelope(
        "response",
        "http://example.org/d/a",
        [
            {"path": "A@/href", "url": "b"},
            {"path": "IMG@/src", "url": "c.png"},
            {"path": "AREA@/href", "url": "//example.com/"},
            {"path": "A@/href", "url": "http://[broken"},
            {"path": "A@/href"},
        ],
        base="/e/",
    )
    + envelope("response", "dns:example.org")
)


def test_the_pages_of_a_wat_file_and_where_they_lead_if_that_is_wanted(tmp_path):
    path = tmp_path / "x.warc.wat.gz"
    path.write_bytes(WAT)
    assert texts(seed_files.read_seeds(str(path))) == ["http://example.org/d/a"]
    assert texts(seed_files.read_seeds(str(path), links=True)) == [
        "http://example.org/d/a",
        "http://example.org/e/b",
        "http://example.com/",
    ]
    (refused,) = (
        seed for seed in seed_files.read_seeds(str(path)) if isinstance(seed, seed_files.RefusedLine)
    )
    assert refused.line == 3


def test_links_are_known_of_wat_files_alone(tmp_path):
    (tmp_path / "s.txt").write_bytes(LIST)
    with pytest.raises(InputError, match="only a WAT file lists the links of its pages"):
        seed_files.read_seeds(str(tmp_path / "s.txt"), links=True)


@pytest.mark.shared
def test_a_real_wat_file():
    path = shared_file("archives/whirlwind-python/whirlwind.warc.wat.gz")
    assert texts(seed_files.read_seeds(str(path))) == []  # it has the request alone
