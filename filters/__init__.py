"""Decide which documents are kept, and which of them are duplicates.

A model recognises the language of a document (`models.language`). Its text is split once into lines, paragraphs and
words (`text.AnalyzedText`). The rules of a preset (`rules.presets`) are applied in order; each is a pure function of
the text and its own parameters (`rules.gopher`, `rules.c4`, `rules.fineweb`). The first rule that drops the document
decides (`judge`), and the verdict holds everything that was measured. A rule may also edit the text (`edits`): the
rules behind it, the signature and the exports then read the edited text, and the document stays as it is. Every kept
document gets a signature (`dedup.signature`). From the signatures of all of them follows which documents are duplicates
(`dedup.decisions`). The result depends neither on the order of the documents nor on the machine nor on the clock.
"""

if __name__ != "thresher.filters":
    raise ImportError("import thresher.filters: `filters` is its folder in a checkout")
