"""Turn the bytes of a page into text. Extraction is pure: it uses no clock and no disk, and remembers no other page.

A payload is decoded to characters (`charset`), with the rules of browsers. The crawler takes the links from them
(`links`), and a sketch of their text (`sketch`), by which it notices pages that say nothing new. The pipeline extracts
the main text and the facts that the page states about itself (`html`, `pdf`, `wikitext`), and `record_document` makes a
`Document` of them, or a `Skip` with its reason. The same bytes give the same document on any machine, at any speed, in
any order.
"""

if __name__ != "thresher.extract":
    raise ImportError("import thresher.extract: `extract` is its folder in a checkout")

from thresher.extract.skip import Skip

__all__ = ["Skip"]
