"""What a URL is to the frontier, without its state. Pure. Entry point: `canonical.canonical`.

`canonical` gives the one text of a page, `scope` says how far links are followed, `trap`, `template` and `novelty` find hosts that
generate pages without end, and `revisit_interval` says when a page is visited again.
"""
