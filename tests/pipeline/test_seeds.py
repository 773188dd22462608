"""Seeds are read from what users have: lists, CSVs, sitemaps, compressed or not."""

import gzip
import json

import pytest
import zstandard

from core import InputError, Url
from crawler.note import decode
from frontier import canonical
from pipeline import seeds
from pipeline.seed import Plan, _discoveries
from tests.shared import shared

LIST = b"# comment\nhttp://example.org/a\n\n  https://example.org/b  \nno url\nftp://example.org/\n"


def read(path, data, name="seeds.txt"):
    (path / name).write_bytes(data)
    return list(seeds.read(str(path / name)))


def texts(found):
    return [seed.text for seed in found if isinstance(seed, Url)]


def test_a_plain_list_with_comments_and_blank_lines(tmp_path):
    found = read(tmp_path, LIST)
    assert texts(found) == ["http://example.org/a", "https://example.org/b"]


def test_a_line_that_leads_into_a_trap_is_refused_with_the_reason(tmp_path):
    (refused,) = read(tmp_path, b"http://example.org/a/b/a/b/a/b/c\n")
    assert str(refused).endswith("is no URL to crawl (a trap: repeated_segments)")


def test_a_line_that_is_no_url_is_refused_with_its_number_and_the_others_go_on(tmp_path):
    refused = [seed for seed in read(tmp_path, LIST) if not isinstance(seed, Url)]
    assert [seed.line for seed in refused] == [5, 6]
    assert "line 5: 'no url' is no URL" in str(refused[0])


@pytest.mark.parametrize(
    ("name", "pack"), [("s.gz", gzip.compress), ("s.zst", zstandard.ZstdCompressor().compress)]
)
def test_compressed_lists(tmp_path, name, pack):
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
    assert found == seeds.Sitemap(url=canonical("http://example.org/s1.xml"))
    (seed,) = _discoveries([found], Plan(crawl="c", scope="host", max_depth=0))
    assert (decode(seed.note).kind, seed.depth, seed.max_depth) == ("sitemap", 0, 1)


def test_one_url_is_a_seed_itself():
    assert texts(seeds.read("http://example.org/")) == ["http://example.org/"]


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
    ("name", "pack"), [("s.gz", gzip.compress), ("s.zst", zstandard.ZstdCompressor().compress)]
)
def test_a_compressed_list_that_breaks_off_is_an_error(tmp_path, name, pack):
    whole = pack(b"".join(b"http://example.org/%d\n" % n for n in range(50_000)))
    with pytest.raises(InputError, match=r"cannot be read behind \d+ URLs"):
        read(tmp_path, whole[:-2000], name)


def test_a_list_that_breaks_its_own_format_is_an_error_in_one_line(tmp_path):
    data = b'url\n"http://example.org/' + b"a" * 200_000
    with pytest.raises(InputError) as refusal:
        read(tmp_path, data)
    assert "\n" not in str(refusal.value)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        seeds.read(str(tmp_path / "absent.txt"))


def test_a_gz_that_is_none_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path, b"plain text", "seeds.gz")


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
    assert texts(seeds.read(str(path))) == ["http://example.org/d/a"]
    assert texts(seeds.read(str(path), links=True)) == [
        "http://example.org/d/a",
        "http://example.org/e/b",
        "http://example.com/",
    ]
    (refused,) = (seed for seed in seeds.read(str(path)) if not isinstance(seed, Url))
    assert refused.line == 3


def test_links_are_known_of_wat_files_alone(tmp_path):
    (tmp_path / "s.txt").write_bytes(LIST)
    with pytest.raises(InputError, match="links are known of the pages of a WAT file alone"):
        seeds.read(str(tmp_path / "s.txt"), links=True)


@pytest.mark.shared
def test_a_real_wat_file():
    path = shared("archives/whirlwind-python/whirlwind.warc.wat.gz")
    assert texts(seeds.read(str(path))) == []  # it has the request alone
