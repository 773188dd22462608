"""Names of classes and ids show what a box holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.extract.page.class_hints import ALWAYS_UNLIKELY, DOUBTFUL, LIKELY, LONGEST, _hints, class_hints


@pytest.mark.parametrize(
    ("class_", "id_", "weight"),
    [
        ("", "", 0),
        ("article", "", 25),
        ("article", "content", 50),
        ("promo", "", -25),
        ("promo", "sponsor", -50),
        ("post-meta", "", 0),
        ("Article ARTICLE-Body", "", 25),
        ("xyzzy", "plugh", 0),
        ("overflow-hidden", "", 0),
        ("overflow-x-scroll lg:hidden dark:text-white", "", 0),
        ("hidden", "", -25),
    ],
)
def test_each_name_weighs_for_content_or_against_it(class_, id_, weight):
    assert class_hints(class_, id_).weight == weight


@pytest.mark.parametrize(
    ("name", "unlikely"),
    [
        ("breadcrumbs", DOUBTFUL),
        ("pagination", DOUBTFUL),
        ("site-header", DOUBTFUL),
        ("sidebar", LIKELY),
        ("footer", ALWAYS_UNLIKELY),
        ("footer-note", LIKELY),
        ("related-posts", LIKELY),
        ("photo-credit", DOUBTFUL),
        ("comments", ALWAYS_UNLIKELY),
        ("main-content", 0),
        ("article-sidebar", 0),
        ("with-sidebar", 0),
        ("md:sidebar", 0),
        ("has-banner", 0),
        ("elementor-widget", 0),
    ],
)
def test_names_of_surroundings_are_believed_so_far(name, unlikely):
    assert class_hints(name, "").unlikely == unlikely
    assert class_hints("", name).unlikely == unlikely


@pytest.mark.parametrize("name", ["fatitem", "comtr", "comments_subtree", "nestedlisting"])
def test_names_of_the_comments_on_a_link(name):
    assert class_hints(name, "").is_link_discussion
    assert not class_hints(f"{name}s", f"a-{name}").is_link_discussion


@pytest.mark.parametrize(
    "name", ["comments", "comment-list", "commentlist", "disqus_thread", "post-comments", "respond", "dsq-1"]
)
def test_names_of_readers_comments(name):
    assert class_hints(name, "").comments


@pytest.mark.parametrize(
    "name",
    ["commentary", "commentary-track", "commentOnSelection", "accommodation", "correspondent", "document"],
)
def test_names_that_only_look_like_it(name):
    assert not class_hints(name, "").comments


@pytest.mark.parametrize("name", ["[&_figcaption]:mt-0", "top-[--header-height]", "[&>.sidebar]:hidden"])
def test_selectors_and_values_of_tailwind_name_other_elements(name):
    assert class_hints(f"content {name}", "") == class_hints("content", "")


@pytest.mark.parametrize(
    ("name", "sure"), [("sidebar", True), ("cookie-notice", True), ("breadcrumbs", False), ("text", False)]
)
def test_some_parts_are_hardly_ever_content(name, sure):
    assert class_hints(name, "").is_boilerplate == sure


def test_what_lies_behind_the_bound_of_a_name_says_nothing():
    assert class_hints("x" * LONGEST + " sidebar", "y" * LONGEST + " article") == class_hints("x", "y")


def test_a_name_is_remembered_no_further_than_it_is_looked_at():
    _hints.cache_clear()
    for n in range(10):
        class_hints("x" * LONGEST + str(n), "")
    assert _hints.cache_info().currsize == 1


@given(st.text(max_size=60), st.text(max_size=60))
def test_signs_are_the_same_twice_and_do_not_depend_on_case_of_letters(class_, id_):
    found = class_hints(class_, id_)
    assert found == class_hints(class_, id_)
    assert found == class_hints(class_.lower(), id_.lower())
    assert found.unlikely in {0, DOUBTFUL, LIKELY, ALWAYS_UNLIKELY}
    assert found.weight in {-50, -25, 0, 25, 50}


@pytest.mark.parametrize(
    "piece", ["comment-", "comments_", "dsq-a", "_comment", "-ad-", "comment-body", "no-"]
)
def test_names_made_of_one_piece_are_looked_at_in_one_pass(piece):
    assert class_hints((piece * LONGEST)[:LONGEST] + "!", piece * LONGEST) is not None
