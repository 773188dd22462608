"""`Stated`: a fact and the place on the page that states it."""

from typing import NamedTuple


class Stated(NamedTuple):
    """A fact; both are empty if the page does not state it."""

    value: str = ""
    source: str = ""
    """Such as `meta og:title`, `json-ld datePublished`, `class byline`, `url`."""


NOTHING = Stated()
