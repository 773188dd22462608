"""What is worth learning from, and what is there twice.

A document is recognised as a language (`language`) and read once into lines, paragraphs and words (`rules.Text`).
The rules of a preset (`presets`) look at it in order, each a pure function of the text and its own parameters:
`gopher`, `c4`, `fineweb`. The first that objects decides (`judge`), and what was measured stays in the verdict.
What is kept is signed (`signature`), and the signatures of everything together say what duplicates what
(`duplicates`). Nothing here depends on the order of documents, the machine or the clock.
"""

from filters.judge import judge
from filters.text import AnalyzedText, Finding, Rule

__all__ = ["AnalyzedText", "Finding", "Rule", "judge"]
