"""Every post of a discussion is content, once and in the order of the page; what is around the posts is not."""

import pytest

from tests.expect import expect
from thresher.extract.extraction import Extraction
from thresher.extract.html import extract

POSTS = (
    "Has anybody seen the ice in the harbour, and how thick is it by now?",
    "Yes.",
    "My boat is stuck in it, so it is thick enough for me. Nobody came to cut it out, and I do not know who should.",
    "Thanks!",
)
MEMBER = (
    "<div class=user-info><a href=/u>marta</a><p>Posts: 1,234</p><p>Member since the summer of 2004</p></div>"
)
SOFTWARE = {
    "one class": "<div class='post'>{member}<div class='postbody'>{post}</div></div>",
    "nested": "<article class='message'>{member}<div class='message-content'><div class='message-body'>"
    "<div class='bbWrapper'>{post}</div></div></div></article>",
    "comments": "<li class='comment'>{member}<div class='comment-body'><p>{post}</p></div><a href=r>Reply</a></li>",
    "crawlers": "<div class='topic-body crawler-post'>{post}</div>{member}",
    "short": "<div class='row'>{member}<div class='phml msg-body'>{post}</div></div>",
    "no names of forums": "<div class='b1 row'>{member}<div class='b2'>{post}</div></div>",
    "numbered names": "<table class='entry entry-1234'><tr><td>{member}</td><td class=cell><div class=words>{post}</div></td></tr></table>",
}
ADDRESSES = (
    "https://example.org/threads/ice.12/",
    "https://example.org/forum/ice",
    "https://forum.example.org/ice",
    "https://example.org/gassing/topic.asp?h=0&t=1",
    "https://example.org/index.php?topic=343886.0",
    "https://example.org/t/ice/18136",
    "https://example.org/thread-88.html",
    "https://community.example.org/ice",
)


def lines_of(template, **page):
    return lines_of_thread("".join(template.format(member=MEMBER, post=post) for post in POSTS), **page)


def lines_of_thread(thread, *, head="", url=ADDRESSES[0]):
    rules = (
        "<div class=rules><p>Be kind to each other, and do not sell boats here, or anything else.</p></div>"
    )
    found = extract(
        f"<html><head><title>Ice in the harbour</title>{head}</head><body><h1>Ice in the harbour</h1>{thread}{rules}</body>"
        "</html>",
        url,
    )
    return expect(Extraction, found).text.split("\n")


@pytest.mark.parametrize("software", SOFTWARE)
def test_every_post_is_there_once_and_in_order(software):
    lines = [line.removeprefix("- ") for line in lines_of(SOFTWARE[software])]
    assert lines == ["Ice in the harbour", *POSTS]


def test_microdata_marks_posts_whose_names_say_nothing():
    names = ("ash", "birch", "elm", "oak")
    posts = (
        f"{MEMBER}<div class={name} itemprop=text>{post}</div>"
        for name, post in zip(names, POSTS, strict=True)
    )
    assert lines_of_thread("".join(posts)) == ["Ice in the harbour", *POSTS]


@pytest.mark.parametrize("url", ADDRESSES)
def test_an_address_tells_a_discussion_even_if_open_graph_says_article(url):
    head = "<meta property='og:type' content='article'>"
    assert lines_of(SOFTWARE["one class"], head=head, url=url) == ["Ice in the harbour", *POSTS]
