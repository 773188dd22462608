"""Turn wikitext into the text that a reader of the page sees, without MediaWiki.

1. The passes are, in this order: literals are replaced by marks (`literals`: comments, references, code, formulas);
   templates and links are replaced by the text that they show (`braces`, `templates`, `names`); tags and marks within
   lines are removed (`inline`); lines become headings, paragraphs, lists and tables (`blocks`, `wiki_tables`).
2. A template shows the text that its rule in `templates.TEMPLATE_RULES` gives. A template without a rule shows nothing,
   because its code is not in the page.
3. Sections that list works and links (References, See also; `names.APPENDICES`) are left out, and so are headings
   without text beneath, pictures, categories, and links between languages.
4. Extraction never raises, whatever the bytes are. It takes a few passes over the text, each linear in its length but
   for a factor of at most `braces.DEEPEST`. Nothing is shown twice, so the text cannot grow. The same bytes give the
   same text.
"""

import re

from thresher.core.unicode14 import known, original
from thresher.extract.extraction import Extraction
from thresher.extract.skip import Skip
from thresher.extract.wikitext.blocks import build_blocks
from thresher.extract.wikitext.braces import resolve_templates
from thresher.extract.wikitext.inline import strip_inline_markup, unescape_and_trim, write_markdown
from thresher.extract.wikitext.literals import replace_literals, restore_literals
from thresher.extract.wikitext.names import is_redirect

__all__ = ["EXTRACTOR", "LONGEST", "extract"]

EXTRACTOR = "wikitext@2"
LONGEST = 8 << 20
"""Bytes of a page at most: four times MediaWiki's limit ($wgMaxArticleSize, 2 MiB)."""
CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Control characters, which are removed: no text has them, and some of them are used as marks (`marks`)."""


def extract(payload: bytes, *, markdown: bool = False) -> Extraction | Skip:
    """Return the text of a page whose wikitext in UTF-8 is `payload`. Blank lines separate paragraphs and other blocks.

    In plain text, headings are lines, items begin with `- ` or `1. `, rows are lines with ` | ` between cells, code is
    unchanged, and TeX stands between dollar signs. With `markdown`, headings begin with `#`, code is fenced, words are
    emphasised, and a table has its rule. The reasons of a `Skip` are empty_body, too_large and no_text (also for
    redirects).
    """
    if len(payload) > LONGEST:
        return Skip(reason="too_large")
    text = payload.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    text = known(CONTROLS.sub("", text).removeprefix("\ufeff"))
    if not text.strip():
        return Skip(reason="empty_body")
    if is_redirect(text):
        return Skip(reason="no_text")
    text, kept = replace_literals(text, markdown=markdown)
    text = build_blocks(strip_inline_markup(resolve_templates(text), markdown=markdown), markdown=markdown)
    text = unescape_and_trim(text)
    text = original(restore_literals(write_markdown(text) if markdown else text, kept).strip())
    return Extraction(text=text, extractor=EXTRACTOR, route="wikitext") if text else Skip(reason="no_text")
