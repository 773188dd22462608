"""Headers, footers and page numbers are removed; text that occurs once stays."""

import pytest

from tests.extract.pdf.paper import at
from tests.extract.pdf.test_pdf_text import read
from thresher.extract.pdf.furniture import remove_furniture
from thresher.extract.pdf.page_text import Line, PdfPageText

BODY = [
    f"Chapter {name} tells of the {what} and of nothing else, as every other does."
    for name, what in (
        ("one", "wind"), ("two", "sea"), ("three", "ships"), ("four", "harbour"), ("five", "light"), ("six", "end"),
    )
]  # fmt: skip


def page(*lines):
    return PdfPageText(
        kind="text",
        lines=tuple(Line(72, y, 72 + 6 * len(text), y + 11, text) for y, text in lines),
    )


def left(*pages):
    return [[line.text for line in lines] for lines in remove_furniture([page(*lines) for lines in pages])]


def test_a_running_title_and_the_number_of_the_page_go():
    pages = [
        at(72, 760, "The Keeper's Book") + at(72, 700, body) + at(300, 40, f"Page {n} of 6")
        for n, body in enumerate(BODY, 1)
    ]
    assert read(*pages).text == "\n\n".join(BODY)


def test_titles_of_left_and_right_pages_go():
    pages = [((20, ("Author", "Title")[n % 2]), (100, body)) for n, body in enumerate(BODY)]
    assert left(*pages) == [[body] for body in BODY]


def test_what_stands_elsewhere_on_each_page_stays():
    pages = [((20 + 40 * n, "Ships"), (400, body)) for n, body in enumerate(BODY)]
    assert left(*pages) == [["Ships", body] for body in BODY]


def test_twice_is_not_often():
    pages = [((20, "Ships"), (400, BODY[0])), ((20, "Ships"), (400, BODY[1]))]
    assert left(*pages) == [["Ships", BODY[0]], ["Ships", BODY[1]]]


def test_what_repeats_in_the_middle_of_pages_stays():
    pages = [
        (
            (20, f"{body} above"),
            (40, f"{body} b"),
            (60, f"{body} c"),
            (200, "Refrain"),
            (300, f"{body} d"),
            (320, f"{body} e"),
            (340, body),
        )
        for body in BODY
    ]
    assert all("Refrain" in lines for lines in left(*pages))


def test_behind_a_line_that_stays_nothing_goes():
    pages = [
        ((20, body), (40, "Ships"), (300, "a"), (320, f"b {body}"), (340, f"c {body}"), (360, f"d {body}"))
        for body in BODY
    ]
    assert all("Ships" in lines for lines in left(*pages))


@pytest.mark.parametrize("numbers", [("7", "8"), ("- 11 -", "- 12 -"), ("Seite 3", "Seite 4")])
def test_numbers_of_two_pages_that_follow_each_other_go(numbers):
    pages = [((100, BODY[n]), (700, number)) for n, number in enumerate(numbers)]
    assert left(*pages) == [[BODY[0]], [BODY[1]]]


def test_numbers_that_do_not_follow_each_other_stay():
    assert left(((100, BODY[0]), (700, "1903")), ((100, BODY[1]), (700, "1871"))) == [
        [BODY[0], "1903"],
        [BODY[1], "1871"],
    ]


def test_roman_numbers_go():
    pages = [
        ((100, body), (700, number))
        for body, number in zip(BODY, ("i", "ii", "iii", "iv", "v", "vi"), strict=True)
    ]
    assert left(*pages) == [[body] for body in BODY]


def test_one_page_keeps_everything():
    assert left(((20, "Title"), (100, BODY[0]), (700, "1"))) == [["Title", BODY[0], "1"]]


def test_pages_of_nothing_but_what_they_repeat_keep_it():
    assert read(*(at(72, 700, f"Document 1: page {n}") for n in range(1, 4))).text == "\n\n".join(
        f"Document 1: page {n}" for n in range(1, 4)
    )


def test_an_empty_page_among_others_does_not_keep_its_title():
    titles = [((20, "The Keeper's Book"),) for _ in BODY]
    texts = [((100, body),) if n != 3 else () for n, body in enumerate(BODY)]
    pages = [(*title, *text) for title, text in zip(titles, texts, strict=True)]
    assert left(*pages) == [[BODY[0]], [BODY[1]], [BODY[2]], [], [BODY[4]], [BODY[5]]]


def test_rows_of_a_table_are_no_titles_though_their_numbers_stand_at_one_height():
    pages = [((20, f"{3 * n * n + 7} {17 - n} 4{n % 3}"), (100, body)) for n, body in enumerate(BODY)]
    assert all(len(lines) == 2 for lines in left(*pages))


def test_a_title_counts_its_pages_by_one_or_stays_the_same():
    titles = ["Report 7 - 11 of 16", "Report 7 - 12 of 16", "Report 7 - 13 of 16", "Report 7 - 14 of 16"]
    pages = [((20, title), (100, body)) for title, body in zip(titles, BODY, strict=False)]
    assert left(*pages) == [[body] for body in BODY[:4]]
