"""Put the late parts of a page where they belong. Pure.

React sends a page before all of it is ready. Where a part is missing, the page has `<template id="B:1"></template>`
and what is shown meanwhile; the part follows at the end as `<div hidden id="S:4">`, and the script `$RC("B:1","S:4")`
moves it to its place. `P:1` is such a place within a part. So browsers show another order than a server sends.
"""

import re

_PART = re.compile(rb'<div hidden(?:="")? id="S:([0-9a-f]+)">')
_IN_PART = re.compile(rb"<(?:(?P<skipped>!--|script\b|style\b)|(?P<begins>div\b)|/div\s*>)")
_SKIPPED_UNTIL = {b"!--": b"-->", b"script": b"</script", b"style": b"</style"}
_MOVE = re.compile(
    rb'\$R(?:[CR]\("(?P<boundary>B:[0-9a-f]+)","S:(?P<content>[0-9a-f]+)"'
    rb'|S\("S:(?P<segment>[0-9a-f]+)","(?P<place>P:[0-9a-f]+)")'
)
"""A call that moves a part."""
_IN_TEXT = re.compile(
    rb'<(?:!--(?:(?P<begins>\$[?~!]?)|(?P<ends>/\$))-->|template id="(?P<place>[BP]:[0-9a-f]+)"></template>)'
)


class _Text:
    """The page or a late part while it is copied."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.copied_to = 0
        self.places = iter(_places(text))


def move_late_parts(html: bytes) -> bytes:
    """Return a page with its late parts in their places; a part without a place stands at the end of the page.

    What is shown meanwhile is left out if React's comments mark it. The time is linear in the size of the page.
    """
    if b'id="S:' not in html:
        return html
    page, parts = _take_parts(html)
    numbers = _numbers(html)
    pieces: list[bytes] = []
    texts = [_Text(page)]
    while texts:
        inner = texts[-1]
        found = next(inner.places, None)
        if found is None:
            pieces.append(inner.text[inner.copied_to :])
            texts.pop()
            continue
        place, start, end = found
        number = numbers.get(place, place[2:])
        if start >= inner.copied_to and number in parts:
            pieces.append(inner.text[inner.copied_to : start])
            inner.copied_to = end
            texts.append(_Text(parts.pop(number)))
    pieces.extend(b'<div hidden id="S:%b">%b</div>' % part for part in parts.items())
    return b"".join(pieces)


def _numbers(html: bytes) -> dict[bytes, bytes]:
    """Return the number of the part that a script moves to each place. Without its script, a page had equal numbers."""
    return {
        found["boundary"] or found["place"]: found["content"] or found["segment"]
        for found in _MOVE.finditer(html)
    }


def _take_parts(html: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    """Return the page without its late parts, and the contents of these by number. A second part with the same number
    stays in the page, and so do all parts from one without an end on.
    """
    parts: dict[bytes, bytes] = {}
    pieces, taken, position = [], 0, 0
    while (found := _PART.search(html, position)) is not None:
        end = _end_of_part(html, found.end())
        if end is None:
            break
        position = end.end()
        if found[1] not in parts:
            parts[found[1]] = html[found.end() : end.start()]
            pieces.append(html[taken : found.start()])
            taken = position
    return b"".join((*pieces, html[taken:])), parts


def _end_of_part(html: bytes, position: int) -> re.Match[bytes] | None:
    """Return the end tag of the part whose contents begin at `position`. If these leave a <div> open, it is the one
    that the next part or the script that moves this one follows directly.
    """
    depth = 1
    last: re.Match[bytes] | None = None
    while (found := _IN_PART.search(html, position)) is not None:
        follows_end = last is not None and last.end() == found.start()
        position = found.end()
        if found["skipped"]:
            until = html.find(_SKIPPED_UNTIL[found["skipped"]], position)
            if until < 0:
                return None
            if follows_end and _MOVE.search(html, position, until):
                return last
            position = until
        elif found["begins"]:
            if follows_end and _PART.match(html, found.start()):
                return last
            depth += 1
        else:
            depth -= 1
            if not depth:
                return found
            last = found
    return None


def _places(text: bytes) -> list[tuple[bytes, int, int]]:
    """Return each place in a text, its start, and its end with what is shown meanwhile."""
    places: list[tuple[bytes, int, int]] = []
    # The index of the place that follows each open comment directly.
    open_comments: list[int | None] = []
    end_of_comment = -1
    for found in _IN_TEXT.finditer(text):
        if found["begins"]:
            open_comments.append(None)
            end_of_comment = found.end()
        elif not found["ends"]:
            if found.start() == end_of_comment:
                open_comments[-1] = len(places)
            places.append((found["place"], found.start(), found.end()))
        elif open_comments and (index := open_comments.pop()) is not None:
            place, start, _ = places[index]
            places[index] = (place, start, found.start())
    return places
