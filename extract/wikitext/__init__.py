"""Wikitext to text, as a reader of the page sees it: what MediaWiki's markup says, without MediaWiki.

1. In this order: what is not markup is set aside (`aside`: comments, references, code, formulas), templates and links are
   replaced by what they show (`braces`, `templates`, `names`), tags and marks within a line are taken off (`inline`), and
   lines become headings, paragraphs, lists and tables (`blocks`, `tables`).
2. A template shows what its row in `templates.SHOWN` says, and nothing where it has none: its code is not in the page.
3. Sections that list works and addresses (References, See also; `names.APPENDICES`) are left out, and so are headings
   without text beneath, pictures, categories, and links between languages.
4. Never raises, whatever the bytes. The work is a few passes over the text, each linear in its length but for a factor of
   `braces.DEEPEST` at most; nothing is shown twice, so nothing grows. Same bytes, same text.
"""

import re

from extract.extraction import Extraction
from extract.skip import Skip
from extract.wikitext.blocks import build_blocks
from extract.wikitext.braces import resolve_templates
from extract.wikitext.inline import strip_inline_markup, unescape_and_trim
from extract.wikitext.literals import replace_literals, restore_literals
from extract.wikitext.names import is_redirect

__all__ = ["EXTRACTOR", "LONGEST", "extract"]

EXTRACTOR = "wikitext@1"
LONGEST = 8 << 20
"""Bytes: four times what MediaWiki takes ($wgMaxArticleSize, 2 MiB)."""
CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Left out: no text has them, and some serve as marks here (`marks`)."""


def extract(payload: bytes, *, markdown: bool = False) -> Extraction | Skip:
    """The text of a page whose wikitext is `payload`, UTF-8; paragraphs and other blocks are apart by a blank line.

    Plain: headings are lines, items begin with `- ` or `1. `, rows are lines with ` | ` between cells, code and TeX stand as
    they were written. With `markdown` headings begin with `#`, code and TeX are fenced, and a table has its rule; what may
    be taken for Markdown in the text is not escaped.
    `Skip`: empty_body, too_large, no_text (redirects too).
    """
    if len(payload) > LONGEST:
        return Skip(reason="too_large")
    text = payload.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    text = CONTROLS.sub("", text).removeprefix("\ufeff")
    if not text.strip():
        return Skip(reason="empty_body")
    if is_redirect(text):
        return Skip(reason="no_text")
    text, kept = replace_literals(text, markdown=markdown)
    text = build_blocks(strip_inline_markup(resolve_templates(text), markdown=markdown), markdown=markdown)
    text = restore_literals(unescape_and_trim(text), kept).strip()
    return Extraction(text=text, extractor=EXTRACTOR, route="wikitext") if text else Skip(reason="no_text")
