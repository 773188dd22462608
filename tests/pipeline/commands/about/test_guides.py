"""The guides as the program shows them."""

import re
from pathlib import Path

import pytest

from thresher.pipeline.commands.about.guides import DIRECTORY, read_guide, topics

GUIDES = Path(__file__).resolve().parents[4] / "docs/guides"
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def test_every_page_of_the_guides_is_a_topic_with_its_title():
    assert list(topics()) == sorted(page.stem for page in GUIDES.glob("*.md"))
    assert topics()["install"] == (GUIDES / "install.md").read_text().splitlines()[0].removeprefix("# ")
    assert all(title and len(title) < 100 for title in topics().values())


@pytest.mark.parametrize("topic", topics())
def test_no_link_is_left_and_each_that_led_to_a_guide_names_its_topic(topic):
    text, source = read_guide(topic), (GUIDES / f"{topic}.md").read_text()
    assert FENCED.findall(text) == FENCED.findall(source)
    assert "](" not in FENCED.sub("", text)
    linked = set(re.findall(r"\]\(([a-z0-9-]+)\.md(?:#[^)]*)?\)", FENCED.sub("", source)))
    assert linked <= topics().keys()
    assert all(f"(`thresher help {each}`)" in text for each in linked)


@pytest.mark.parametrize(
    ("link", "text"),
    [
        ("[many machines](cluster.md#nodes)", "many machines (`thresher help cluster`)"),
        ("[above](#extras)", "above"),
        ("[the rules](../reference/rules.md)", "the rules (docs/reference/rules.md)"),
        ("[NOTICE](../../NOTICE)", "NOTICE"),
        ("[`docs/security.md`](../security.md)", "`docs/security.md`"),
        ("[SURT](https://example.org/surt)", "SURT (https://example.org/surt)"),
        ("![the page](console.png)", "the page (docs/guides/console.png)"),
        ("```\n[a](b.md)\n```\n", "```\n[a](b.md)\n```\n"),
    ],
)
def test_a_link_says_where_it_leads(link, text, tmp_path, monkeypatch):
    (tmp_path / "one.md").write_text(link)
    monkeypatch.setattr("thresher.pipeline.commands.about.guides.DIRECTORY", tmp_path)
    assert read_guide("one") == text


def test_the_guides_lie_in_the_package():
    assert DIRECTORY.name == "guides"
    assert DIRECTORY.parent.name == "thresher"
