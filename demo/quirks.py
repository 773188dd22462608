"""Add oddities that crawlers meet: each is on one host, linked there, and recorded as a fact (`demo.site.Expected`)."""

import struct
import zlib
from random import Random

from demo import layout
from demo.article import near_copy
from demo.magazine import Magazine

_COPIED = {"en": 3, "de": 2, "fr": 1, "es": 1}
"""Number of exact copies, and of near copies, that a magazine has of its own articles."""
_FIRST = 30
"""Number of the first article that may be copied: earlier ones have oddities already or are copied by other hosts."""


def copies(magazine: Magazine, rng: Random) -> None:
    """Add copies of articles at other URLs: byte for byte, and with a few words changed."""
    site, count = magazine.site, _COPIED[magazine.bank.labels["language"]]
    places = rng.sample(range(_FIRST, len(magazine.entries)), 2 * count)
    for number in places[:count]:
        original, text = magazine.entries[number]
        target = f"/copy/{number}.html"
        # The copy is rendered for the URL of the original, so that the bytes are equal. Only on hosts with
        # document-relative links is it rendered for its own URL, because its links would lead elsewhere.
        here = target if magazine.plan.style == "relative" else original
        magazine.put(target, magazine.article(number, here, text))
        site.exact.append((site.url(original), site.url(target)))
        site.languages[site.url(target)] = text.language
        magazine.extras.append((target, text.title))
    for number in places[count:]:
        original, text = magazine.entries[number]
        target = f"/print/{number}.html"
        magazine.put(
            target, magazine.article(number, target, near_copy(text, magazine.bank, rng), build="bare")
        )
        site.near.append((site.url(original), site.url(target)))
        site.languages[site.url(target)] = text.language
        magazine.extras.append((target, text.title))


def english(magazine: Magazine) -> None:
    """Add rules in robots.txt, redirects of every kind, nofollow, sessions, chunks and files."""
    site, entries, extras = magazine.site, magazine.entries, magazine.extras
    site.file(
        "/robots.txt", "text/plain", b"User-agent: *\nDisallow: /private/\nDisallow: /search\n", linked=False
    )
    for name in ("", "letters.html", "accounts.html"):
        target = f"/private/{name}"
        main = '<h1>Private</h1><p>Nobody should read this.</p><a href="letters.html">Letters</a>'
        site.page(target, layout.page(magazine.frame(target), "Private", main), linked="forbidden")
        extras.append((target, f"Private {name}"))

    for number in (3, 4):
        site.redirect(f"/old/{number}", 301, entries[number][0])
        extras.append((f"/old/{number}", f"Old address of {entries[number][1].title}"))
    site.redirect("/go/first", 302, "/go/second")
    site.redirect("/go/second", 301, site.url(entries[5][0]))
    site.redirect("/go/round", 302, "/go/about", ends=False)
    site.redirect("/go/about", 307, "/go/round", ends=False)
    site.redirect("/go/itself", 308, "/go/itself", ends=False)
    extras += [("/go/first", "By way of"), ("/go/round", "Round and round"), ("/go/itself", "Here")]

    head = '<meta name="robots" content="noindex, nofollow">\n'
    draft = (
        '<h1>Drafts</h1><p>Nothing here is finished.</p><p><a href="/drafts/one.html">The first draft</a></p>'
    )
    site.page("/drafts.html", layout.page(magazine.frame("/drafts.html", head), "Drafts", draft))
    one = layout.page(magazine.frame("/drafts/one.html"), "Draft", "<h1>Draft</h1><p>Not finished.</p>")
    site.page("/drafts/one.html", one, linked="unlinked")
    comment = (
        '<h1>Odds</h1><!-- <a href="/trap/comment">no</a> --><p><a href="javascript:void(0)">Nothing</a></p>'
    )
    site.page("/odds.html", layout.page(magazine.frame("/odds.html"), "Odds", comment))
    site.page("/trap/comment", "<!DOCTYPE html><title>Trap</title><p>How?", linked="unlinked")
    extras += [("/drafts.html", "Drafts"), ("/odds.html", "Odds")]

    for number in (6, 7, 8):
        target, text = entries[number]
        html = magazine.article(number, target, text)
        alias = f"{target}?sid={magazine.rng.getrandbits(64):016x}"
        magazine.put(alias, html)
        site.aliases[site.url(alias)] = site.url(target)
        site.languages[site.url(alias)] = text.language
        extras.append((alias, f"Still reading: {text.title}"))
    for number in (9, 10, 11):
        target, text = entries[number]
        site.page(target, magazine.article(number, target, text), chunked=True)

    site.file(
        "/notes.txt", "text/plain; charset=utf-8", "Notes of the editors.\nPlain text, one café.\n".encode()
    )
    extras += [("/notes.txt", "Notes"), ("/images/lamp.png", "Our lamp")]
    for number in range(3):
        site.missing_page(f"/articles/lost-{number}.html")
        extras.append((f"/articles/lost-{number}.html", f"A lost essay ({number})"))


def german(magazine: Magazine, elsewhere: str) -> None:
    """Leave out robots.txt, declare Windows-1252 only in the header; add a deleted page and links to other hosts."""
    site, (target, text) = magazine.site, magazine.entries[2]
    html = magazine.article(2, target, text).replace(magazine.plan.meta, "")
    quoted = html.replace("<h1>", "<h1>„", 1).replace("</h1>", "“ – 5 €</h1>", 1)
    site.page(target, quoted, content_type="text/html; charset=windows-1252")
    site.missing_page("/beitrag/vergessen/", 410)
    site.missing_page("/beitrag/nie-geschrieben/")
    site.redirect("/beitrag/umgezogen", 301, "umgezogen/")
    site.redirect("/beitrag/umgezogen/", 302, f"../..{magazine.entries[3][0]}")
    site.redirect("/nachbar", 302, elsewhere)
    magazine.extras += [
        ("/beitrag/vergessen/", "Vergessen"),
        ("/beitrag/nie-geschrieben/", "Nie geschrieben"),
        ("/beitrag/umgezogen", "Umgezogen"),
        ("/nachbar", "Beim Nachbarn"),
    ]
    site.page("/trap/script", "<!DOCTYPE html><title>Falle</title><p>Wie das?", linked="unlinked")


def french(magazine: Magazine) -> None:
    """Make the host slow, and declare ISO-8859-1 only in the header."""
    site, (target, text) = magazine.site, magazine.entries[2]
    site.delay = 0.2
    robots = f"User-agent: *\nCrawl-delay: {site.delay}\nDisallow: /search\n"
    site.file("/robots.txt", "text/plain", robots.encode(), linked=False)
    site.page(target, magazine.article(2, target, text), content_type="text/html; charset=iso-8859-1")
    site.missing_page("/article.php?id=99")
    magazine.extras.append(("/article.php?id=99", "Un article perdu"))


def spanish(magazine: Magazine) -> None:
    """Allow everything explicitly in robots.txt, and link one URL in two spellings."""
    site = magazine.site
    site.file(
        "/robots.txt",
        "text/plain",
        b"User-agent: *\nDisallow:\n\nUser-agent: badbot\nDisallow: /\n",
        linked=False,
    )
    site.missing_page("/articulos/nada")
    magazine.extras.append(("/articulos/nada", "Nada"))
    target, text = next(entry for entry in magazine.entries if "%C3" in entry[0])
    magazine.extras.append((target.replace("%C3", "%c3"), f"{text.title} (otra vez)"))


def lamp() -> bytes:
    """Return a PNG of 16 by 16 pixels: a yellow square with a dark rim."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rim, light = b"\x30\x20\x10", b"\xff\xd8\x40"
    edge, row = b"\0" + rim * 16, b"\0" + rim + light * 14 + rim
    head = struct.pack(">IIBBBBB", 16, 16, 8, 2, 0, 0, 0)
    pixels = zlib.compress(edge + row * 14 + edge, 0)  # stored: programs compress to different bytes
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
