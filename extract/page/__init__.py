"""Read a page into boxes and blocks, and choose the blocks that are its content.

`page_reader` reads a page once, into the arrays of `boxes`. `class_hints` interprets the names of its elements, and
`cues` the words of its lines. `content` and `headline` choose the blocks of the content, and `layout` writes them as
text.
"""
