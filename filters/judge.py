"""Apply rules in order; the first that drops the document decides."""

from collections.abc import Sequence

from core import Document, Verdict
from filters.models.language import LanguagePrediction
from filters.text import AnalyzedText, Rule


def judge(document: Document, language: LanguagePrediction, rules: Sequence[Rule]) -> Verdict:
    """Return the verdict of `rules` on a document, with every measurement made up to the decision."""
    text = AnalyzedText(text=document.text, language=language.code, language_score=language.score)
    measurements: dict[str, float] = {}
    for rule in rules:
        finding = rule(text)
        measurements |= finding.measurements
        if finding.reason is not None:
            return Verdict(
                id=document.id, keep=False, rule=rule.name, reason=finding.reason, measurements=measurements
            )
    return Verdict(id=document.id, keep=True, rule="", reason="", measurements=measurements)
