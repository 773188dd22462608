"""The funnel of a card as a picture: one bar a stage, and no word of a stranger as markup."""

from lxml import etree

from thresher.shards.funnel_picture import BARS, MAX_NAME, NAMES, funnel_picture

SVG = "{http://www.w3.org/2000/svg}"


def stages(*counts):
    return [{"stage": name, "documents": count, "share": count / 8} for name, count in counts]


def drawn(*counts):
    picture = etree.fromstring(funnel_picture(stages(*counts)))
    _, *bars = picture.iter(f"{SVG}rect")
    return [(float(bar.get("x")) - NAMES, float(bar.get("width")), bar.get("fill")) for bar in bars], [
        text.text for text in picture.iter(f"{SVG}text")
    ]


def test_a_stage_leaves_out_the_end_of_what_reached_it_and_the_last_is_kept():
    bars, words = drawn(("early/status", 2), ("dedup/exact", 4), ("kept", 2))
    assert [bar[:2] for bar in bars] == [
        *((0, BARS), (BARS * 0.75, BARS / 4)),
        *((0, BARS * 0.75), (BARS / 4, BARS / 2)),
        *((0, BARS / 4), (0, BARS / 4)),
    ]
    assert bars[1][2] == bars[3][2] != bars[5][2]
    assert words == ["early/status", "2 (25.0%)", "dedup/exact", "4 (50.0%)", "kept", "2 (25.0%)"]


def test_names_of_rules_are_text_and_fit():
    _, words = drawn(("<b>&\x1b", 8), ("a" * 99, 0))
    assert words[0] == "<b>& "
    assert len(words[2]) == MAX_NAME


def test_a_funnel_without_records_is_drawn():
    assert drawn(("kept", 0))[1] == ["kept", "0 (0.0%)"]
