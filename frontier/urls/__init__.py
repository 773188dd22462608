"""The properties of a URL in a crawl, without its state. Pure. Entry point: `canonical.canonicalize`.

`canonical` gives the one text of a page, and `link_targets` the URLs of the links of one. `scope` says how far links
are followed. `trap`, `template` and `novelty` find hosts that generate pages without end. `revisit_interval` says when
a page is visited again.
"""
