"""Write the junk host: pages that no filter should keep, pages that break parsers, and texts of other hosts."""

from collections.abc import Sequence
from random import Random

from demo import layout
from demo.article import Article, near_copy
from demo.bank import bank
from demo.site import Site

_KEYWORDS = "cheap best buy online discount free top deals now offer price sale quality fast shop"
_LATIN = (
    "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore "
    "magna aliqua enim ad minim veniam quis nostrud exercitation ullamco laboris nisi aliquip ex ea commodo"
)
_STUFFED, _LOREM, _FARMS, _SHORT = 7, 4, 7, 6


def junk(site: Site, sources: Sequence[tuple[str, Article]], friends: layout.Links, rng: Random) -> None:
    """Write the host. `sources` are URLs and texts of articles: one half is copied exactly, the other with changes."""
    site.file("/robots.txt", "text/plain", b"# come in\nUser-agent: *\nAllow: /\n", linked=False)
    links: list[tuple[str, str]] = []

    def put(target: str, title: str, main: str, *, kept: bool = False) -> None:
        html = f"<html><head><title>{title}</title></head><body>{main}<p><a href=/>home</a></body></html>"
        site.page(target, html, content_type="text/html")
        links.append((target, title))
        if not kept:
            site.junk.add(site.url(target))

    for number in range(_STUFFED):
        put(f"/buy/{number}", f"buy {number}", f"<h1>BUY!!!</h1><p>{_words(_KEYWORDS, 320, rng)}</p>")
    for number in range(_LOREM):
        put(
            f"/template/{number}",
            f"template {number}",
            "".join(f"<p>Lorem ipsum {_words(_LATIN, 60, rng)}.</p>" for _ in range(4)),
        )
    for number in range(_SHORT):
        put(f"/s/{number}", f"short {number}", f"<p>{_words(_KEYWORDS, 4, rng)}.</p>")
    for number in range(_FARMS):
        items = "".join(f"<a href=/farm/{other}>{_words(_KEYWORDS, 2, rng)}</a> " for other in range(_FARMS))
        items += "".join(f"<a href='{href}'>{text}</a> " for href, text in friends)
        put(f"/farm/{number}", f"links {number}", items * 5)
    put("/again", "again", "<p>Click here to win a prize today.</p>" * 40)
    put("/signs", "signs", f"<p>{'# $ % & * = + ~ ' * 60}</p>")
    put("/dots", "dots", "".join(f"<p>{_words(_KEYWORDS, 6, rng)}...</p>" for _ in range(30)))
    put("/bullets", "bullets", "".join(f"<p>• {_words(_KEYWORDS, 5, rng)}</p>" for _ in range(30)))

    site.page("/empty.html", b"", content_type="text/html")
    site.page(
        "/bytes.html",
        b"<p>\xff\xfe\xfa not in any charset \x80\x81</p>",
        content_type="text/html; charset=utf-8",
    )
    site.page(
        "/broken.html",
        "<div><p>never <b>closed <a href='/s/0'>here<table><tr><li>or there",
        content_type="text/html",
    )
    site.page("/nothing.html", "<!DOCTYPE html><html><head><title>x</title></head><body></body></html>")
    odd = [(f"/{name}.html", name) for name in ("empty", "bytes", "broken", "nothing")]
    site.junk |= {site.url(target) for target, _ in odd}

    half = len(sources) // 2
    for number, (url, article) in enumerate(sources):
        text = article if number < half else near_copy(article, bank(article.language), rng)
        paragraphs = "".join(f"<p>{' '.join(sentences)}</p>\n" for sentences in text.paragraphs)
        target = f"/read/{number}.htm"
        put(target, text.title, f"<article><h1>{text.title}</h1>\n{paragraphs}</article>", kept=True)
        (site.exact if number < half else site.near).append((url, site.url(target)))
        site.languages[site.url(target)] = text.language

    menu = layout.menu([*links, *odd, ("/out-of-stock", "sold"), *friends])
    site.page(
        "/", f"<html><head><title>DEALS</title></head><body>{menu}</body></html>", content_type="text/html"
    )
    site.junk.add(site.url("/"))
    site.missing_page("/out-of-stock")


def _words(words: str, count: int, rng: Random) -> str:
    return " ".join(rng.choices(words.split(), k=count))
