"""Shares that rules dropped in published pipelines, and rules that drop far more or far less here.

A share far outside its band is no error: other pages, another order of rules, and duplicates that were removed before
change it. But the usual causes are a wrong threshold, a wrong language, or an extraction that lost the text.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from thresher.pipeline.funnel import Funnel, Stage

FAR = 3.0
"""A share is far outside if it is less than this part of the lower end, if it is more than so many times the upper end,
or if less than this part of what is left at the upper end is left.
"""
MIN_DOCUMENTS = 1_000
"""Documents that must reach a rule before its share says anything."""
_FINEWEB = "FineWeb, arXiv:2406.17557, section 3.6, share of tokens"
_FINEWEB_C4 = "FineWeb, arXiv:2406.17557, section 3.5, share of tokens"
_DOLMA3 = "Olmo 3 report, Dolma 3 web pipeline, share of documents"


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """The published share of what reaches a rule that the rule drops."""

    stage: str
    """A rule, or `rule/reason`."""
    low: float
    high: float
    of_text: bool
    """Whether it is a share of text and not of documents."""
    source: str


BANDS = (
    Band(
        stage="language",
        low=0.0,  # half of the whole web; a crawl of chosen hosts drops few pages
        high=0.59,
        of_text=False,
        source="RefinedWeb, arXiv:2306.01116 (about half), and a replication of DCLM (dclm#120: 58.67 %)",
    ),
    Band(stage="gopher_repetition", low=0.12, high=0.12, of_text=False, source=_DOLMA3),
    Band(
        stage="gopher_quality",
        low=0.24,
        high=0.64,
        of_text=False,
        source=f"RefinedWeb, arXiv:2306.01116 (all quality rules, about 24 %), and {_DOLMA3} (64 %)",
    ),
    Band(
        stage="c4", low=0.07, high=0.07, of_text=True, source=f"{_FINEWEB_C4}, without terminal punctuation"
    ),
    Band(stage="c4/curly_bracket", low=0.028, high=0.028, of_text=True, source=_FINEWEB_C4),
    Band(stage="fineweb", low=0.22, high=0.22, of_text=True, source=_FINEWEB),
    Band(stage="fineweb/too_few_ended_lines", low=0.1014, high=0.1014, of_text=True, source=_FINEWEB),
    Band(stage="fineweb/repeated_lines", low=0.1247, high=0.1247, of_text=True, source=_FINEWEB),
    Band(stage="fineweb/too_many_short_lines", low=0.0373, high=0.0373, of_text=True, source=_FINEWEB),
)
"""From published funnels; none of the other rules has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A rule that drops far more or far less than in publications."""

    band: Band
    share: float
    documents: int
    """Documents that reached the rule."""

    def __str__(self) -> str:
        what = "text that reaches it" if self.band.of_text else "documents that reach it"
        low, high = (f"{100 * end:.3g}" for end in (self.band.low, self.band.high))
        published = high if low == high else f"{low} to {high}"
        return (
            f"{self.band.stage} drops {100 * self.share:.3g} % of the {what}; published: {published} %"
            f" ({self.band.source})"
        )


def flags(funnel: Funnel) -> Iterator[Flag]:
    """Yield the rules of a funnel whose share is far outside its published band.

    Pages that the early check dropped for their language count as dropped by the rule on languages.
    """
    for band in BANDS:
        rule = band.stage.partition("/")[0]
        at = next((n for n, stage in enumerate(funnel.stages) if _rule(stage) == rule), None)
        if at is None:
            continue
        # Duplicates are removed behind the rules, so they reached every rule.
        reached = list(funnel.stages[at:])
        dropped = [stage for stage in reached if band.stage in (_rule(stage), stage.name)]
        if rule == "language":
            early = [stage for stage in funnel.stages if stage.name == "early/other_language"]
            reached, dropped = [*early, *reached], [*early, *dropped]
        documents = sum(stage.documents for stage in reached)
        whole, gone = (_amount(stages, of_text=band.of_text) for stages in (reached, dropped))
        share = gone / whole if whole else 0.0
        most = min(band.high * FAR, 1 - (1 - band.high) / FAR)
        if documents >= MIN_DOCUMENTS and not band.low / FAR <= share <= most:
            yield Flag(band=band, share=share, documents=documents)


def _rule(stage: Stage) -> str:
    return stage.name.partition("/")[0]


def _amount(stages: list[Stage], *, of_text: bool) -> int:
    return sum(stage.text_bytes if of_text else stage.documents for stage in stages)
