"""Lines in the order in which a person reads them."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.extract.pdf.paper import at, glyphs
from tests.extract.pdf.test_pdf_text import TEXT, read
from thresher.extract.pdf.page_text import Line, Word
from thresher.extract.pdf.pdf_lines import build_lines
from thresher.extract.pdf.reading_order import reading_order

LEFT = (
    "On the left the first column",
    "begins, it goes on for a few",
    "lines that are about as long",
    "as the column is wide, and it",
    "ends before the other begins.",
)
RIGHT = (
    "The second column stands on",
    "the right of it. Whoever reads",
    "across both of them reads what",
    "nobody has ever written, so it",
    "must be read after the first.",
)


def column(left, top, *texts, height=12.0):
    return [
        Line(left, top + n * height * 1.2, left + 6.0 * len(text), top + n * height * 1.2 + height, text)
        for n, text in enumerate(texts)
    ]


def texts(found):
    return [line.text for block in reading_order(found) for line in block.lines]


def test_columns_are_read_one_after_the_other():
    found = read(at(72, 700, *LEFT) + at(320, 700, *RIGHT))
    assert found.text == f"{' '.join(LEFT)}\n\n{' '.join(RIGHT)}"


def test_it_does_not_matter_in_which_order_the_program_wrote_them():
    across = b"".join(
        at(72, 700 - 14 * n, left) + at(320, 700 - 14 * n, right)
        for n, (left, right) in enumerate(zip(LEFT, RIGHT, strict=True))
    )
    assert read(across).text == f"{' '.join(LEFT)}\n\n{' '.join(RIGHT)}"


def test_three_columns():
    found = [*column(50, 100, *LEFT), *column(250, 100, *RIGHT), *column(450, 100, *LEFT)]
    assert texts(found) == [*LEFT, *RIGHT, *LEFT]


def test_a_title_over_the_columns_comes_first_and_a_note_under_them_last():
    title = Line(150, 60, 400, 75, "A title that stands over both of the columns")
    note = Line(50, 300, 500, 312, "A note that stands under both of the columns")
    assert texts([note, *column(300, 100, *RIGHT), *column(50, 100, *LEFT), title]) == [
        title.text,
        *LEFT,
        *RIGHT,
        note.text,
    ]


def test_columns_begin_again_under_a_heading():
    heading = Line(60, 200, 480, 212, "A heading that stands over both of the columns")
    page = [
        *column(50, 100, *LEFT),
        *column(300, 100, *RIGHT),
        heading,
        *column(50, 240, *RIGHT),
        *column(300, 240, *LEFT),
    ]
    assert texts(page) == [*LEFT, *RIGHT, heading.text, *RIGHT, *LEFT]


def test_a_short_title_and_a_short_heading_do_not_hide_the_columns():
    title, heading = Line(200, 40, 380, 52, "A title in the middle"), Line(50, 100, 100, 112, "Abstract")
    page = [title, heading, *column(50, 114.4, *LEFT), *column(300, 100, *RIGHT)]
    assert texts(page) == [title.text, heading.text, *LEFT, *RIGHT]


def test_a_formula_in_the_middle_of_its_column_does_not_hide_the_columns():
    heading, formula = Line(50, 172, 100, 184, "Contents"), Line(380, 172, 440, 184, "a = b")
    left, right = column(50, 100, *LEFT), column(300, 100, *RIGHT)
    below = [*column(50, 186.4, *LEFT), *column(300, 186.4, *RIGHT)]
    assert texts([*left, *right, heading, formula, *below]) == [
        *LEFT,
        heading.text,
        *LEFT,
        *RIGHT,
        formula.text,
        *RIGHT,
    ]


def test_rows_of_a_table_are_read_across():
    ships = (
        ("Ship", "Mast", "Year"),
        ("Anna", "broken", "1903"),
        ("Bertha", "whole", "1899"),
        ("Clara", "none", "1911"),
    )
    rows = b"".join(
        at(72 + 120 * c, 700 - 16 * r, cell) for r, row in enumerate(ships) for c, cell in enumerate(row)
    )
    assert read(rows).text == "\n".join(" ".join(row) for row in ships)


def test_rows_whose_names_are_long_are_read_across_too():
    names = (
        "Items that will not be sold this year",
        "Changes in the value of the fleet",
        "Other income from all harbours",
        "What is left of it in the end",
    )
    rows = b"".join(
        at(72, 700 - 16 * r, name) + at(400, 700 - 16 * r, str(1000 + r)) for r, name in enumerate(names)
    )
    assert read(rows).text == "\n".join(f"{name} {1000 + r}" for r, name in enumerate(names))


def test_a_box_beside_the_text_is_read_by_itself():
    box = column(400, 103, "Built", "1903", "Height", "40 m", height=9.0)
    assert texts([*column(50, 100, *LEFT), *box]) == [*LEFT, "Built", "1903", "Height", "40 m"]


def test_columns_of_right_to_left_text_are_read_from_the_right():
    first, second = ("אבג דהו זחט יכל",) * 4, ("מנס עפצ קרש תאב",) * 4
    assert texts([*column(50, 100, *second), *column(300, 100, *first)]) == [*first, *second]


def test_a_word_written_in_parts_is_one_word_and_parts_of_a_line_are_one_line():
    words = [
        Word(10, 10, 30, 20, "wri", 0, False),
        Word(30.2, 10, 50, 20, "tten", 0, False),
        Word(10, 30, 40, 40, "below", 0, False),
        Word(53, 10, 70, 20, "apart", 0, False),
    ]
    found, aside = build_lines([words[0], words[2], words[1], words[3]])
    assert [line.text for line in found] == ["written apart", "below"]
    assert aside == ()


@given(st.randoms(use_true_random=False))
def test_the_order_is_that_of_places_alone(dice: random.Random):
    page = [*column(50, 100, *LEFT), *column(300, 100, *RIGHT), Line(60, 200, 480, 212, "Below " + TEXT[0])]
    mixed = list(page)
    dice.shuffle(mixed)
    assert texts(mixed) == texts(page)


boxes = st.builds(
    lambda left, top, width, height, text: Line(left, top, left + width, top + height, text),
    st.floats(-1e4, 1e4),
    st.floats(-1e4, 1e4),
    st.floats(0, 1e3),
    st.floats(0, 100),
    st.text("ab אב漢", min_size=1, max_size=20),
)


@given(st.lists(boxes, max_size=40))
def test_nothing_is_lost_and_nothing_is_there_twice_wherever_it_stands(page):
    found = "".join(texts(page))
    assert sorted(found.replace(" ", "")) == sorted("".join(line.text for line in page).replace(" ", ""))


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_page_of_hardly_anything(count):
    assert len(texts(column(50, 100, *LEFT[:count]))) == count


def test_lines_of_han_go_on_without_a_space():
    mapping = dict(enumerate("日本語の文章は空白なしで書かれていますから行の終わりにも空白はありません", 1))
    numbers = list(mapping)
    found = read(
        glyphs(72, 700, numbers[:18], size=12) + glyphs(72, 684, numbers[18:], size=12), mapping=mapping
    )
    assert found.text == "".join(mapping.values())


def test_lines_that_had_room_for_the_next_word_stay_lines():
    verse = (
        "The owl and the pussycat went to sea",
        "in a beautiful boat,",
        "they took some honey and plenty of money",
    )
    assert read(at(72, 700, *verse)).text == "\n".join(verse)


def test_items_stay_lines():
    items = ("- one thing of which there is more to say", "- another of which there is as much to say")
    assert read(at(72, 700, *items)).text == "\n".join(items)
