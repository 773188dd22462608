"""Write the page around a text: header, navigation, sidebar, cookie banner, footer, in three styles.

`semantic` uses HTML's elements for these parts, `soup` uses <div>s with class names, and `bare` is a version for
printing. Their words come from the labels of a bank.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from demo.article import Article

Build = Literal["semantic", "soup", "bare"]
Links = Sequence[tuple[str, str]]
"""Links as pairs of href and text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFrame:
    """The parts that all pages of a host share, for one of its pages; the hrefs are relative to that page."""

    labels: Mapping[str, str]
    build: Build
    home: str
    navigation: Links
    sidebar: Links
    friends: Links
    footer: Links
    head: str = ""
    """More elements for the head, such as `<meta charset>` and `<base>`."""
    picture: str = ""
    """URL of an image for articles; empty for none."""


def page(frame: PageFrame, title: str, main: str) -> str:
    """Return a whole page around `main`."""
    labels = frame.labels
    head = (
        f'<!DOCTYPE html>\n<html lang="{labels["language"]}">\n<head>\n{frame.head}'
        f"<title>{escape(title)} - {escape(labels['name'])}</title>\n"
        f'<meta name="description" content="{escape(labels["tagline"])}">\n'
        "<style>body { max-width: 60em; margin: auto } nav li { display: inline }</style>\n</head>\n"
    )
    return f"{head}<body>\n{_BUILDS[frame.build](frame, main)}</body>\n</html>\n"


def article(frame: PageFrame, text: Article, topic: tuple[str, str], related: Links) -> str:
    """Return the page of an article; `topic` and `related` are links."""
    labels = frame.labels
    parts = [f"<h1>{escape(text.title)}</h1>"]
    parts.append(
        f'<p class="byline">{labels["written"]} {escape(text.author)}, '
        f'<time datetime="{text.date}">{text.date}</time></p>'
    )
    bodies = [escape(" ".join(sentences), quote=False) for sentences in text.paragraphs]
    parts.append(f'<p id="text">{bodies[0]}</p>')
    if frame.picture:
        parts.append(f'<figure><img src="{escape(frame.picture)}" alt="" width="16" height="16"></figure>')
    parts += [f"<p>{body}</p>" for body in bodies[1:]]
    body = "\n".join(parts)
    if frame.build == "bare":
        return page(frame, text.title, f"<article>\n{body}\n</article>\n")
    share = "".join(f'<button type="button">{name}</button>' for name in ("@", "+", labels["print"]))
    tail = f'<p class="tags"><a href="{escape(topic[0])}" rel="tag">{escape(topic[1])}</a></p>'
    tail += f'<div class="share">{labels["share"]}: {share}</div>'
    tail += f'<div class="related"><h3>{labels["related"]}</h3>\n{menu(related)}</div>'
    if frame.build == "semantic":
        main = f"<article>\n{body}\n</article>\n<footer>{tail}</footer>\n"
    else:
        main = f'<div class="post"><div class="entry-content">\n{body}\n</div>\n{tail}</div>\n'
    return page(frame, text.title, main)


def teasers(frame: PageFrame, entries: Sequence[tuple[str, Article]]) -> str:
    """Return titles with their first sentence, as on a front page."""
    return "\n".join(
        f'<div class="teaser"><h2><a href="{escape(href)}">{escape(text.title)}</a></h2>'
        f'<p>{escape(text.paragraphs[0][0])} <a class="more" href="{escape(href)}">{frame.labels["more"]}</a></p></div>'
        for href, text in entries
    )


def menu(links: Links) -> str:
    """Return a list of links."""
    items = "\n".join(f'<li><a href="{escape(href)}">{escape(text)}</a></li>' for href, text in links)
    return f"<ul>\n{items}\n</ul>\n"


def _semantic(frame: PageFrame, main: str) -> str:
    labels = frame.labels
    return (
        f'<header id="top"><a class="logo" href="{escape(frame.home)}">{labels["name"]}</a>'
        f'<p class="tagline">{labels["tagline"]}</p>{_search(frame)}</header>\n'
        f"<nav>{menu(frame.navigation)}</nav>\n<main>\n{main}</main>\n"
        f"<aside><h3>{labels['latest']}</h3>\n{menu(frame.sidebar)}"
        f"<h3>{labels['friends']}</h3>\n{menu(frame.friends)}</aside>\n{_consent(frame)}"
        f'<footer>{menu(frame.footer)}<p><a href="#top">^</a> {labels["name"]}. {labels["rights"]}</p></footer>\n'
    )


def _soup(frame: PageFrame, main: str) -> str:
    labels = frame.labels
    return (
        f'{_consent(frame)}<div id="wrapper"><div id="header"><div class="site-title">'
        f'<a href="{escape(frame.home)}">{labels["name"]}</a></div>'
        f'<div class="slogan">{labels["tagline"]}</div></div>\n'
        f'<div id="navigation" class="menu">{menu(frame.navigation)}</div>\n'
        f'<div id="sidebar" class="sidebar widget-area">{_search(frame)}<h3>{labels["latest"]}</h3>'
        f"{menu(frame.sidebar)}"
        f"<h3>{labels['friends']}</h3>{menu(frame.friends)}</div>\n"
        f'<div id="content">\n{main}</div>\n'
        f'<div id="footer" class="footer">{menu(frame.footer)}<p>{labels["name"]}. {labels["rights"]}</p></div></div>\n'
        "<script>document.write('<a href=\"/trap/script\">x</a>')</script>\n"
    )


def _bare(frame: PageFrame, main: str) -> str:
    return f'{main}<p class="footer"><a href="{escape(frame.home)}">{frame.labels["home"]}</a></p>\n'


def _search(frame: PageFrame) -> str:
    label = frame.labels["search"]
    return f'<form action="/search" role="search"><input name="q" placeholder="{label}"><button>{label}</button></form>'


def _consent(frame: PageFrame) -> str:
    labels = frame.labels
    return (
        f'<div id="cookie-banner" class="cookie-consent" role="dialog"><p>{labels["consent"]}</p>'
        f'<button type="button">{labels["accept"]}</button></div>\n'
    )


_BUILDS: Mapping[Build, Callable[[PageFrame, str], str]] = {
    "semantic": _semantic,
    "soup": _soup,
    "bare": _bare,
}
