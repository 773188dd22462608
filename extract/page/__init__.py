"""A page as boxes and blocks, and which of its blocks are what it is about.

The tree of a page is walked once (`boxes`). What the names of its elements say is in `signs`; what its lines say, in `cues`; which blocks
are its content, and its headline, is decided on the arrays (`content`, `headline`), and `layout` writes them down.
"""
