"""Apply rules in order; the first that drops the document decides. A rule sees the text as the rules before it edited
it.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from thresher.core import Document, Edit, Verdict
from thresher.filters.edits import compose
from thresher.filters.models.language import LanguagePrediction
from thresher.filters.text import AnalyzedText, Rule


def judge(document: Document, language: LanguagePrediction, rules: Sequence[Rule]) -> Verdict:
    """Return the verdict of `rules` on a document, with every measurement and edit made up to the decision.

    Raise `ValueError` if a rule returns edits that do not fit the text.
    """
    text = analyzed(document, language)
    measurements: dict[str, float] = {}
    edits: tuple[Edit, ...] = ()
    for rule in rules:
        finding = rule(text)
        measurements |= finding.measurements
        if finding.reason is not None:
            return Verdict(
                id=document.id,
                keep=False,
                rule=rule.name,
                reason=finding.reason,
                measurements=measurements,
                edits=edits,
            )
        if finding.edits:
            text = text.edited(finding.edits)
            edits = compose(edits, finding.edits)
    return Verdict(id=document.id, keep=True, rule="", reason="", measurements=measurements, edits=edits)


def analyzed(
    document: Document, language: LanguagePrediction, columns: Mapping[str, object] = MappingProxyType({})
) -> AnalyzedText:
    """Return the text of a document as rules see it. `columns` are values that came with it."""
    return AnalyzedText(
        text=document.text,
        language=language.code,
        language_score=language.score,
        language_share=language.share,
        url=document.url,
        license=document.license,
        columns=columns,
    )
