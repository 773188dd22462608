"""Pages that people read first: links lead somewhere, decisions have date and status, the changelog has the version."""

import re
import tomllib
from datetime import date
from functools import cache
from pathlib import Path

import pytest

from tests.packages import PACKAGES

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<!!)\[[^\]\n]+\]\(([^)\s]+)\)|!\[[^\]\n]*\]\(([^)\s]+)\)")
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/README.md")),
    *(ROOT / name for name in ("docs/architecture.md", "docs/security.md", "docs/decisions/README.md")),
    *sorted((ROOT / "docs" / "guides").glob("*.md")),
]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
STATUS = re.compile(r"accepted|superseded by \[\d+\]\((\d{4}-[a-z0-9-]+\.md)\)")


def prose(page):
    """A page without its code."""
    return re.sub(r"```.*?```|`[^`\n]*`(?!\])", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


@cache
def anchors(page):
    """Anchors of a page's headings, as forges make them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    text = prose(page)
    links = ["".join(pair) for pair in LINK.findall(text)]
    for link in links:
        target, _, anchor = link.partition("#")
        if target.startswith(("http://", "https://")):
            continue
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), link
        assert there.is_relative_to(ROOT), link
        assert not anchor or anchor in anchors(there), link


def test_the_architecture_has_a_diagram_with_every_package():
    (diagram,) = re.findall(r"```mermaid\n(.*?)```", ARCHITECTURE, re.DOTALL)
    for package in PACKAGES:
        assert package == "core" or re.search(rf"\b{package}\b", diagram), package
        assert f"[{package}](../{package}/__init__.py)" in ARCHITECTURE
    assert set(range(1, 10)) == {int(number) for number in re.findall(r'["|, ](\d) [a-zA-Z]', diagram)}


def test_the_life_of_a_url_has_nine_steps_and_each_leads_to_its_module():
    life = ARCHITECTURE.partition("## The life of a URL\n")[2].partition("\n## ")[0]
    steps = re.findall(r"^(\d)\. (.*?)(?=^\d\. |\n\n[A-Z]|\Z)", life, re.MULTILINE | re.DOTALL)
    assert [int(number) for number, _ in steps] == list(range(1, 10))
    for number, text in steps:
        modules = [link for link, _ in LINK.findall(text)]
        assert modules, number
        assert all(link.endswith((".py", ".lua")) for link in modules), number


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem)
def test_a_decision_has_its_number_a_date_and_a_status(page):
    head = page.read_text(encoding="utf-8").split("\n")[:6]
    assert head[0].startswith(f"# {int(page.name[:4])}. ")
    assert (head[1], head[4]) == ("", "")
    written = date.fromisoformat(head[2].removeprefix("- Date: "))
    assert written >= date(2026, 11, 21)
    status = STATUS.fullmatch(head[3].removeprefix("- Status: "))
    assert status, head[3]
    assert status[1] is None or (page.parent / status[1]).exists()


def test_every_decision_is_listed_once_under_its_number():
    listed = re.findall(
        r"^(\d+)\. \[.+\]\((.+)\)$",
        (ROOT / "docs/decisions/README.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert [name for _, name in listed] == [page.name for page in DECISIONS]
    assert all(int(number) == int(name[:4]) for number, name in listed)


def test_the_changelog_has_the_version_of_the_package():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    headings = re.findall(
        r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    assert headings[0] == ("Unreleased", "")
    assert headings[1][0] == version
    for _, day in headings[1:]:
        date.fromisoformat(day)


def test_readme_is_short_and_its_tree_has_every_package():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 125
    tree = text.partition("## The tree")[2]
    for package in [*PACKAGES, "demo", "tests", "bench", "docs", "examples"]:
        assert re.search(rf"^{package}/ ", tree, re.MULTILINE), package
