"""From bytes to text, one page at a time, without a clock, a disk or a memory of other pages.

A payload becomes characters (`charset`), in the order in which a browser decides. The crawler takes links from
them (`links`); the pipeline takes the main text and what the page says of itself (`html`), and makes a
`Document` of it, or a `Skip` with its reason (`document`). The same bytes give the same document on any
machine, at any speed, in any order.
"""

from extract.skip import Skip

__all__ = ["Skip"]
