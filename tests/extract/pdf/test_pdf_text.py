"""PDFs become text; an empty or broken PDF is skipped with a reason."""

import zlib

import pytest
from pypdfium2 import PdfDocument

from tests.extract.pdf.paper import Scan, at, glyphs, make_pdf, pdf_file, stream
from thresher.extract import Skip
from thresher.extract.pdf import PdfExtraction, extract

TEXT = (
    "The keeper of the lighthouse wrote in his book that the wind",
    "had turned to the north, and that three ships had passed it",
    "before noon, one of them with a broken mast and no flag.",
)
SAID = " ".join(TEXT)
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
DPI = 200


def read(*pages, **said):
    found = extract(make_pdf(*pages, **said))
    assert isinstance(found, PdfExtraction), found
    return found


def skipped(payload, **said):
    found = extract(payload, **said)
    assert isinstance(found, Skip)
    return found.reason


def scan(*lines):
    """These lines as a scanner sees them: a picture without characters."""
    with PdfDocument(make_pdf(at(72, 700, *lines, size=12, font="C"))) as book:
        seen = book[0].render(scale=DPI / 72, grayscale=True)
        rows = bytes(seen.buffer)
    pixels = b"".join(rows[y * seen.stride : y * seen.stride + seen.width] for y in range(seen.height))
    return Scan(seen.width, seen.height, pixels)


def test_lines_of_a_paragraph_are_one_line_of_text():
    assert read(at(72, 700, *TEXT)).text == SAID


def test_room_between_lines_parts_paragraphs():
    found = read(at(72, 700, *TEXT) + at(72, 630, *TEXT))
    assert found.text == f"{SAID}\n\n{SAID}"


def test_a_document_says_its_title_day_and_language():
    found = read(at(72, 700, *TEXT), title="Das Buch des Wärters", date="D:19031204120000Z", language="en-GB")
    assert (found.title, found.date, found.declared_language) == (
        "Das Buch des Wärters",
        "1903-12-04",
        "en-GB",
    )
    assert (found.pages, found.route) == (1, "pdf")


@pytest.mark.parametrize("title", ["Microsoft Word - report_final.doc", "untitled", "scan0001.pdf"])
def test_the_name_of_a_file_is_no_title(title):
    assert not read(at(72, 700, *TEXT), title=title).title


@pytest.mark.parametrize("date", ["D:20230230", "D:2023", "yesterday", ""])
def test_what_is_no_day_is_no_date(date):
    assert not read(at(72, 700, *TEXT), date=date).date


XMP = """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF><rdf:Description xmp:CreateDate="1903-12-04T12:00:00Z">
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">Wind &amp; weather</rdf:li></rdf:Alt></dc:title>
<dc:creator><rdf:Seq><rdf:li>A. Keeper</rdf:li><rdf:li>B. Helper</rdf:li></rdf:Seq></dc:creator>
<dc:language><rdf:Bag><rdf:li>en</rdf:li></rdf:Bag></dc:language>
<cc:license rdf:resource="http://creativecommons.org/licenses/by/4.0/"/></rdf:Description></rdf:RDF></x:xmpmeta>"""


def test_its_xmp_says_what_the_information_dictionary_does_not():
    found = read(at(72, 700, *TEXT), extra={50: stream(XMP.encode(), b"/Type/Metadata/Subtype/XML")})
    assert (found.title, found.author, found.date, found.declared_language, found.license) == (
        "Wind & weather",
        "A. Keeper; B. Helper",
        "1903-12-04",
        "en",
        "https://creativecommons.org/licenses/by/4.0",
    )


def test_of_several_packets_nobody_knows_which_is_the_documents_own():
    packet = stream(XMP.encode(), b"/Type/Metadata/Subtype/XML")
    assert not read(at(72, 700, *TEXT), extra={50: packet, 51: packet}).title


def test_pages_follow_each_other_and_a_sentence_goes_on_over_the_foot_of_one():
    found = read(at(72, 700, *TEXT[:2]), at(72, 700, TEXT[2]))
    assert found.text == SAID


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
def test_a_page_may_be_turned(rotate):
    assert read(at(72, 700, *TEXT), rotate=rotate).text == SAID


@pytest.mark.parametrize(("angle", "x", "y"), [(90, 300, 72), (180, 500, 300), (270, 300, 700)])
def test_text_may_be_turned_on_its_page(angle, x, y):
    assert read(at(x, y, *TEXT, angle=angle)).text == SAID


def test_a_stamp_in_the_margin_stands_behind_the_text_of_its_page():
    assert (
        read(at(30, 300, "arXiv:1234.5678v1", angle=90) + at(72, 700, *TEXT)).text
        == f"{SAID}\n\narXiv:1234.5678v1"
    )


def test_right_to_left_is_read_as_it_is_spoken():
    # Glyphs are painted from the left: the last letter first.
    words = ["שלום", "לכל", "העולם", "היפה"]
    letters = dict(enumerate(sorted(set("".join(words))), 1))
    numbers = {letter: number for number, letter in letters.items()} | {" ": 90}
    painted = [numbers[letter] for letter in reversed(" ".join(words))]
    found = read(glyphs(72, 700, painted, size=12), mapping=letters | {90: " "})
    assert found.text == " ".join(words)


def test_forms_are_text_of_their_page():
    form = stream(
        at(72, 700, *TEXT), b"/Type/XObject/Subtype/Form/BBox[0 0 612 792]/Resources<</Font<</F 3 0 R>>>>"
    )
    assert read(b"/X Do", extra={50: form}, resources=b"/XObject<</X 50 0 R>>").text == SAID


def test_what_is_typed_into_a_form_and_noted_on_the_page_is_text_of_it():
    shown = stream(
        at(2, 4, "Filled in by hand"),
        b"/Type/XObject/Subtype/Form/BBox[0 0 200 20]/Resources<</Font<</F 3 0 R>>>>",
    )
    notes = b"/Annots[<</Type/Annot/Subtype/FreeText/Rect[72 500 272 520]/F 4/AP<</N 50 0 R>>>>]"
    found = read(at(72, 700, *TEXT), extra={50: shown}, notes=notes)
    assert found.text == f"{SAID}\n\nFilled in by hand"


def test_a_form_keeps_its_text_if_its_pages_inherit_their_fonts():
    shown = stream(
        at(2, 4, "Filled in by hand"),
        b"/Type/XObject/Subtype/Form/BBox[0 0 200 20]/Resources<</Font<</F 3 0 R>>>>",
    )
    notes = b"/Annots[<</Type/Annot/Subtype/Widget/Rect[72 500 272 520]/F 4/AP<</N 50 0 R>>>>]"
    text = glyphs(72, 700, [ord(letter) + 200 for letter in SAID], size=5)
    mapping = {ord(letter) + 200: letter for letter in set(SAID)}
    payload = make_pdf(text, extra={50: shown}, notes=notes, mapping=mapping, inherited=True)
    found = extract(payload)
    assert isinstance(found, PdfExtraction), found
    assert found.text == f"{SAID}\n\nFilled in by hand"


def test_a_footnote_does_not_split_the_sentence_that_continues_on_the_next_page():
    first = at(72, 700, *TEXT[:2]) + at(72, 600, "1 The book is kept in the town library.", size=8)
    found = read(first, at(72, 700, TEXT[2]))
    assert found.text == f"{SAID}\n\n1 The book is kept in the town library."


def test_a_caption_between_columns_does_not_split_a_sentence():
    left = at(40, 700, *(f"the wind had turned to the {word} on" for word in NUMBERS))
    right = at(330, 700, *(f"and a ship had passed it at {word} in" for word in NUMBERS))
    found = read(left + at(40, 480, "Figure 1: The lighthouse seen from the sea.", size=8) + right)
    sentence, caption = found.text.split("\n\n")
    assert caption == "Figure 1: The lighthouse seen from the sea."
    assert sentence.startswith("the wind had turned to the one")
    assert sentence.endswith("passed it at ten in")


def test_a_page_break_does_not_split_a_sentence_before_a_name():
    first = at(72, 700, *TEXT[:2], "on the morning of the day on which the ships of the port of")
    second = at(
        72, 700, "Aberdeen had left the harbour for the last time and for ever,", "and none was seen again."
    )
    assert "ships of the port of Aberdeen had left the harbour" in read(first, second).text


def test_a_heading_at_the_top_of_a_page_stays_a_paragraph():
    found = read(at(72, 700, *TEXT[:2]), at(72, 700, "The Ships", size=16) + at(72, 660, *TEXT))
    assert found.text.split("\n\n")[1] == "The Ships"


def test_a_hyphen_that_a_font_calls_soft_is_read_within_a_line():
    mapping = dict(enumerate("A well\u00adknown light", 1))
    assert read(glyphs(72, 700, mapping), mapping=mapping).text == "A well-known light"


def test_ligatures_are_letters_and_spaces_of_any_width_are_spaces():
    mapping = dict(enumerate(("\ufb01", "n", "d", "\u2003", "o", "\ufb03", "c", "e"), 1))
    assert read(glyphs(72, 700, mapping), mapping=mapping).text == "find office"


def test_accents_that_fonts_have_apart_are_put_on_their_letters():
    mapping = dict(enumerate("na\u00a8\u0131ve", 1))
    assert read(glyphs(72, 700, [1, 2, 3, 4, 5, 6]), mapping=mapping).text == "naïve"


def test_a_page_that_is_a_picture_is_scanned():
    assert skipped(make_pdf(scan("NO ONE READS THIS"))) == "scanned_pdf"


def test_a_document_keeps_its_other_pages():
    found = read(at(72, 700, *TEXT), scan("NO ONE READS THIS"))
    assert (found.text, found.pages, found.scanned, found.route) == (SAID, 2, 1, "pdf/partial")


def test_a_font_that_does_not_say_what_its_glyphs_are_is_garbled():
    # Glyphs in the order of their fonts: three behind each letter.
    numbers = [ord(letter) - 29 for letter in SAID]
    assert skipped(make_pdf(glyphs(20, 700, numbers, size=4))) == "garbled_pdf"


def test_letters_that_are_moved_in_the_alphabet_are_garbled_whatever_the_font_says():
    text = " ".join(
        (*TEXT, *TEXT, "Nobody on the shore could say from which harbour they had come that morning or why")
    )
    mapping = {n: chr((n - 97 + 3) % 26 + 97) if 97 <= n < 123 else chr(n) for n in map(ord, text)}
    assert skipped(make_pdf(glyphs(10, 700, map(ord, text), size=3), mapping=mapping)) == "garbled_pdf"


def test_empty_pages_are_no_text():
    assert skipped(make_pdf(b"", b"")) == "no_text"


def test_a_document_with_an_unknown_password_is_encrypted():
    assert skipped(make_pdf(at(72, 700, *TEXT), password="secret")) == "encrypted"


def test_the_empty_password_opens():
    assert read(at(72, 700, *TEXT), password="").text == SAID


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "not_pdf"),
        (b"<html>", "not_pdf"),
        (b"%PDF-1.7\n", "truncated_pdf"),
        (b"%PDF-1.7\nnothing\n%%EOF\n", "broken_pdf"),
        (pdf_file({1: b"<</Type/Catalog>>"}), "broken_pdf"),
    ],
)
def test_what_is_no_document_is_skipped_with_its_reason(payload, reason):
    assert skipped(payload) == reason


def test_a_broken_table_of_objects_is_made_again():
    whole = make_pdf(at(72, 700, *TEXT))
    begin = whole.index(b"startxref\n") + 10
    moved = whole[:begin] + b"77" + whole[whole.index(b"\n", begin) :]
    found = extract(moved)
    assert isinstance(found, PdfExtraction)
    assert found.text == SAID


def test_clipped_at_any_byte_it_is_read_as_far_as_it_goes_or_truncated():
    whole = make_pdf(at(72, 700, *TEXT), at(72, 700, "A second page."))
    ends = set()
    for length in range(0, len(whole), 7):
        found = extract(whole[:length])
        ends.add(found.reason if isinstance(found, Skip) else "text")
    assert ends <= {"not_pdf", "truncated_pdf", "no_text", "text"}
    assert {"truncated_pdf", "text"} <= ends


def test_an_archive_that_says_so_is_believed():
    # The end of another document, or of a part, is there.
    broken = b"%PDF-1.7\n1 0 obj\n<<\n%%EOF\n"
    assert (skipped(broken), skipped(broken, truncated=True)) == ("broken_pdf", "truncated_pdf")


def test_a_stream_that_unpacks_beyond_measure_is_not_unpacked():
    assert skipped(make_pdf(b"q Q " * (16 << 20), packed=True)) == "too_complex"


def test_a_stream_that_is_packed_twice_is_not_unpacked():
    twice = stream(zlib.compress(zlib.compress(at(72, 700, *TEXT))), b"/Filter[/FlateDecode /FlateDecode]")
    assert skipped(make_pdf(b"", extra={50: twice})) == "too_complex"


def test_text_that_would_take_the_library_hours_is_left_out_and_the_other_pages_are_kept():
    backwards = b"BT /F 9 Tf 50 500 Td " + b"(a)Tj -9 0 Td " * 100_000 + b"ET"
    found = read(at(72, 700, *TEXT), backwards)
    assert (found.text, found.beyond, found.route) == (SAID, 1, "pdf/partial")


def test_the_same_bytes_give_the_same_text():
    payload = make_pdf(at(72, 700, *TEXT), at(320, 700, *TEXT))
    first = extract(payload)
    extract(make_pdf(at(72, 700, "Another document.")))
    assert extract(payload) == first
