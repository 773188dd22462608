"""Characters of a PDF that show what a reader sees are told from garbled ones."""

import io
import json
import unicodedata
from collections import defaultdict

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.shared import shared_file
from thresher.extract.pdf.quality import is_garbled, normal

TEXT = "The keeper of the lighthouse wrote in his book that the wind had turned to the north and that three ships passed"


@pytest.mark.parametrize(
    "text",
    [
        "\ue001\ue002\ue003 \ue004\ue005",
        "\ufffd\ufffd\ufffd text",
        "(cid:12)(cid:7)(cid:33) (cid:4)",
        "\x01\x02\x03 \x04\x05 ab",
    ],
)
def test_private_use_replacements_controls_and_numbers_of_glyphs_are_garbled(text):
    assert is_garbled(text, unmapped=0.0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        TEXT,
        "12,345.67 89.10 (31,874) 64,457",
        "x = \u03b1 + \u222b f(t) dt",
        "text1 text2 text3 " * 60,
        "\u6f22\u5b57\u304b\u306a",
        "BGH ZPR NJW",
    ],
)
def test_readable_text_is_not_garbled(text):
    assert not is_garbled(text, unmapped=0.0)


def test_a_font_that_says_nothing_is_believed_where_its_letters_make_words():
    assert not is_garbled(TEXT, unmapped=1.0)
    assert is_garbled("".join(chr(ord(c) - 29) for c in TEXT), unmapped=1.0)
    assert is_garbled("\u0514\u03f8\u0407 \u03b0\u07d9 \u03e3\u0137\u0cc5", unmapped=1.0)


@pytest.mark.shared
def test_no_language_of_the_world_is_garbled():
    texts = defaultdict(list)
    with shared_file("langid/udhr2.jsonl.zst").open("rb") as file:
        lines = io.TextIOWrapper(
            zstandard.ZstdDecompressor().stream_reader(file), encoding="utf-8", newline="\n"
        )
        for line in lines:
            row = json.loads(line)
            texts[row["udhr"]].append(row["text"])
    assert len(texts) > 300
    assert [code for code, said in texts.items() if is_garbled(" ".join(said), unmapped=0.0)] == []


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("e\u0301", "é"),
        ("\ufb01nd", "find"),
        ("\ufedf\ufe8e", "\u0644\u0627"),
        ("exam\u00adple", "example"),
        ("a\u00a0\u2003 b", "a b"),
        ("a \u0007 b\x00", "a b"),
        ("na\u00a8\u0131ve r\u00b4esum\u00b4e", "naïve résumé"),
        ("one \n two", "one\ntwo"),
        ("Content ............... 2", "Content ... 2"),
        ("Content .  .  .  .  .  . 2", "Content ... 2"),
        ("\u00b8\x1fR\u00b8\u212a", "\u0156\u0136"),
        ("e\u00ad\u0301", "é"),
    ],
)
def test_how_text_is_written(written, read):
    assert normal(written) == read


PIECES = [
    *" \n\t.…·aRtıȷ¨´¸˙",
    *"\xa0\xad\x1f\x85\u200b\u0301\u0304\u0308\u0387\u1ffd\u2001\u212a\ufb01\ufb05\ufb1d\ufe70\ufe8e",
]


@given(st.text() | st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_normal_text_is_nfc_and_stays_what_it_is(text):
    once = normal(text)
    assert unicodedata.is_normalized("NFC", once)
    assert normal(once) == once
