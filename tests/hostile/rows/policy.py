"""Row 12: rules for robots in pages and headers, besides robots.txt."""

from tests.crawler.server import page
from tests.hostile.rows.row import Row, WebAddress

LINK = '<p>{text}</p><a href="{path}">on</a>'


def obeyed(name, said, *headers, head=""):
    """Return a row with a page that says nofollow: nobody requests its links."""
    body = f"<html><head>{head}</head><body>{LINK.format(text=said, path='/behind')}</body></html>"
    return Row(
        number=12,
        name=name,
        answers={"/says": page(body, *headers), "/behind": page("behind")},
        links=("/says",),
        kept={"/says": None},
        asked={"/says": (1, 1), "/behind": (0, 0)},
    )


def passed_over(name, said, *headers, head=""):
    """Return a row with a page that says it to others, or says something else: its links are followed."""
    row = obeyed(name, said, *headers, head=head)
    return Row(
        number=12,
        name=name,
        answers=row.answers,
        links=row.links,
        kept={"/says": None, "/behind": None},
        asked={"/says": (1, 1), "/behind": (1, 1)},
    )


def per_link() -> Row:
    body = '<p>links</p><a rel="nofollow" href="/sponsored">a</a><a href="/plain">b</a>'
    return Row(
        number=12,
        name="rel=nofollow of one link",
        answers={"/says": page(body), "/plain": page("plain"), "/sponsored": page("sponsored")},
        links=("/says",),
        asked={"/plain": (1, 1)},
    )


def rows(_: WebAddress) -> list[Row]:
    return [
        obeyed("meta robots nofollow", "one", head='<meta name="robots" content="NOINDEX, NoFollow">'),
        obeyed("meta robots none", "two", head="<META NAME=Robots CONTENT=none>"),
        obeyed("meta robots of our name", "three", head='<meta name="thresher" content="nofollow">'),
        obeyed("X-Robots-Tag nofollow", "four", "X-Robots-Tag: noindex, nofollow"),
        obeyed("X-Robots-Tag of our name", "five", "x-robots-tag: Thresher: nofollow"),
        obeyed("the second X-Robots-Tag", "six", "X-Robots-Tag: noai", "X-Robots-Tag: none"),
        passed_over("X-Robots-Tag to another", "seven", "X-Robots-Tag: otherbot: nofollow"),
        passed_over("meta robots of another", "eight", head='<meta name="otherbot" content="nofollow">'),
        passed_over("noindex, noai, noarchive alone", "nine", "X-Robots-Tag: noindex, noai, noimageai"),
        passed_over("unavailable_after", "ten", "X-Robots-Tag: unavailable_after: 25 Jun 2010 15:00:00 PST"),
        passed_over(
            "TDM reservation",
            "eleven",
            "tdm-reservation: 1",
            head='<meta name="tdm-reservation" content="1">',
        ),
        obeyed(
            "meta robots in the body, after other words",
            "twelve",
            head="</head><body><p>x</p><meta content='nofollow,noindex' name=robots>",
        ),
        obeyed("X-Robots-Tag in capitals and lists", "thirteen", "X-ROBOTS-TAG: NOARCHIVE , NOFOLLOW"),
        passed_over(
            "meta robots in a comment", "fourteen", head='<!-- <meta name="robots" content="nofollow"> -->'
        ),
        passed_over(
            "meta robots in a template",
            "fifteen",
            head='<template><meta name="robots" content="nofollow"></template>',
        ),
        per_link(),
    ]
