"""In the comparison with other crawlers each "yes" of Thresher is held by a test."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "comparison.md"
YES = re.compile(r"\[yes\]\((\.\./tests/[\w./]+\.py)\)(?:, .+)?")


def rows():
    text = PAGE.read_text(encoding="utf-8").partition("| | Thresher |")[2]
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()[2:]
        if line[:1] == "|"
    ]


def test_each_yes_of_ours_links_to_a_file_with_tests():
    assert len(rows()) > 20
    for name, ours, *_ in rows():
        found = YES.fullmatch(ours)
        assert found or ours == "–", name
        assert found is None or re.search(
            r"^(?:async )?def test_", (PAGE.parent / found[1]).read_text(), re.MULTILINE
        )


def test_every_row_says_something_of_each_program():
    assert {len(row) for row in rows()} == {7}
    assert all(all(row) for row in rows())
