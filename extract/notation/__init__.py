"""Write what is more than words as text: tables, formulas, superscripts, code, and the inline marks of Markdown.

The rules are the same for HTML (`extract.page`) and for wikitext (`extract.wikitext`).
"""
