"""Put the late parts of a page where they belong. Pure.

React sends a page before all of it is ready. Where a part is missing, the page has `<template id="B:1"></template>`
and what is shown meanwhile; the part follows at the end as `<div hidden id="S:1">`, and a script moves it to its place.
`P:1` is such a place within a part. So browsers show another order than a server sends.
"""

import re

_PART = re.compile(rb'<div hidden(?:="")? id="S:([0-9a-f]+)">')
_IN_PART = re.compile(rb"<(?:(?P<skipped>!--|script\b|style\b)|(?P<begins>div\b)|/div\s*>)")
_SKIPPED_UNTIL = {b"!--": b"-->", b"script": b"</script", b"style": b"</style"}
_IN_TEXT = re.compile(
    rb'<(?:!--(?:(?P<begins>\$[?~!]?)|(?P<ends>/\$))-->|template id="[BP]:(?P<number>[0-9a-f]+)"></template>)'
)


class _Text:
    """The page, or a late part: what of it is written already, and the places in it."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.written = 0
        self.places = iter(_places(text))


def move_late_parts(html: bytes) -> bytes:
    """Return a page with its late parts in their places; a part without a place stays hidden, at the end of the page.

    What is shown meanwhile is left out if React's comments mark it. The time is linear in the size of the page.
    """
    if b'id="S:' not in html:
        return html
    page, parts = _take_parts(html)
    pieces: list[bytes] = []
    texts = [_Text(page)]
    while texts:
        inner = texts[-1]
        place = next(inner.places, None)
        if place is None:
            pieces.append(inner.text[inner.written :])
            texts.pop()
            continue
        number, start, end = place
        if start >= inner.written and number in parts:
            pieces.append(inner.text[inner.written : start])
            inner.written = end
            texts.append(_Text(parts.pop(number)))
    pieces.extend(b'<div hidden id="S:%b">%b</div>' % part for part in parts.items())
    return b"".join(pieces)


def _take_parts(html: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    """Return the page without its late parts, and the contents of these by number, up to a part that has no end. Of
    parts with the same number, the first is one.
    """
    parts: dict[bytes, bytes] = {}
    pieces, taken, position = [], 0, 0
    while (found := _PART.search(html, position)) is not None:
        end = _end_of_div(html, found.end())
        if end is None:
            break
        position = end.end()
        if found[1] not in parts:
            parts[found[1]] = html[found.end() : end.start()]
            pieces.append(html[taken : found.start()])
            taken = position
    return b"".join((*pieces, html[taken:])), parts


def _end_of_div(html: bytes, position: int) -> re.Match[bytes] | None:
    """Return the end tag of the <div> whose contents begin at `position`."""
    depth = 1
    while (found := _IN_PART.search(html, position)) is not None:
        position = found.end()
        if found["skipped"]:
            position = html.find(_SKIPPED_UNTIL[found["skipped"]], position)
            if position < 0:
                return None
        else:
            depth += 1 if found["begins"] else -1
            if not depth:
                return found
    return None


def _places(text: bytes) -> list[tuple[bytes, int, int]]:
    """Return the number of each place in a text, its start, and its end with what is shown meanwhile."""
    places: list[tuple[bytes, int, int]] = []
    open_places: list[int | None] = []
    """For each comment that is not ended: which place follows it directly."""
    begun = -1
    for found in _IN_TEXT.finditer(text):
        if found["begins"]:
            open_places.append(None)
            begun = found.end()
        elif not found["ends"]:
            if found.start() == begun:
                open_places[-1] = len(places)
            places.append((found["number"], found.start(), found.end()))
        elif open_places and (index := open_places.pop()) is not None:
            number, start, _ = places[index]
            places[index] = (number, start, found.start())
    return places
