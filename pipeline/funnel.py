"""The funnel: how many records each filter dropped, in filter order.

Rules
1. All responses of the sources enter, archived or dropped before; they are 100 %.
2. Each record is counted once, at the stage that decided it. The stages add up to the responses that entered.
3. Documents, payload bytes and text bytes are exact, because the code that decides also counts. Tokens are exact if a
   tokenizer saw the text. Otherwise they are estimated from the text bytes, at the rate of the exported text, and
   marked as estimated.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

REMOVAL_KINDS = ("exact", "url", "near")
"""Kinds of removals, in the order in which they are decided."""
EARLY_RULE = "early"
"""Name in place of a rule if nothing had to be extracted to decide."""
SCREEN_RULE = "screen"
"""Name in place of a rule if deduplication knew such a document before it was filtered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The records that one stage dropped, or, for the last stage, the records that were kept."""

    name: str
    documents: int
    payload_bytes: int
    text_bytes: int
    tokens: int | None = None
    tokens_estimated: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCounts:
    """The token count of exported text."""

    tokenizer: str
    tokens: int
    text_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    """Stages in filter order; the last one holds the kept records."""

    sources: tuple[str, ...]
    stages: tuple[Stage, ...]
    tokenizer: str
    """Name of the tokenizer that counted tokens; empty if there was none."""
    normalised: int = 0
    """Texts of inputs from which extraction removed white space at an end, CR, NUL or a byte order mark."""

    @property
    def records(self) -> int:
        """Number of responses that entered."""
        return sum(stage.documents for stage in self.stages)

    @property
    def payload_bytes(self) -> int:
        """Decoded payload bytes that entered."""
        return sum(stage.payload_bytes for stage in self.stages)

    @property
    def kept(self) -> Stage:
        """The last stage."""
        return self.stages[-1]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, with each stage's share of the documents that entered."""
        total = self.records
        rows = []
        left = total
        for stage in self.stages:
            rows.append(
                {
                    "stage": stage.name,
                    "in": left,
                    "documents": stage.documents,
                    "share": stage.documents / total if total else 0.0,
                    "payload_bytes": stage.payload_bytes,
                    "text_bytes": stage.text_bytes,
                    "tokens": stage.tokens,
                    "tokens_estimated": stage.tokens_estimated,
                }
            )
            left -= stage.documents
        return {
            "sources": list(self.sources),
            "tokenizer": self.tokenizer,
            "records": total,
            "payload_bytes": self.payload_bytes,
            **({"normalised_texts": self.normalised} if self.normalised else {}),
            "stages": rows,
        }


def make_funnel(
    sources: Iterable[str],
    stage_counts: Mapping[str, int],
    rule_order: Iterable[str],
    removed: Iterable[Stage] = (),
    tokens: TokenCounts | None = None,
    unprocessed: int = 0,
) -> Funnel:
    """Return the funnel of the counts of the process step, without what deduplication removed from the kept.

    `stage_counts` are the summed counts of `pipeline.steps.process`. `tokens` are those of an export of the kept
    documents. `unprocessed` counts the records that are not processed yet.
    """
    stages: dict[str, Stage] = {}
    for key in stage_counts:
        name, _, unit = key.rpartition(".")
        if unit == "documents":
            stages[name] = Stage(
                name=name,
                documents=stage_counts[key],
                payload_bytes=stage_counts[f"{name}.payload_bytes"],
                text_bytes=stage_counts[f"{name}.text_bytes"],
            )
    kept = stages.pop("keep", Stage(name="keep", documents=0, payload_bytes=0, text_bytes=0))
    order = {
        rule: n for n, rule in enumerate(["archive", "early", "extract", "rights", SCREEN_RULE, *rule_order])
    }
    dropped = sorted(stages.values(), key=lambda stage: (order[stage.name.partition("/")[0]], stage.name))
    removed = list(removed)
    kept = Stage(
        name="kept",
        documents=kept.documents - sum(stage.documents for stage in removed),
        payload_bytes=kept.payload_bytes - sum(stage.payload_bytes for stage in removed),
        text_bytes=kept.text_bytes - sum(stage.text_bytes for stage in removed),
    )
    waiting = [Stage(name="not processed", documents=unprocessed, payload_bytes=0, text_bytes=0)]
    every = [*(waiting if unprocessed else []), *dropped, *removed, kept]
    if tokens is not None and tokens.text_bytes:
        rate = tokens.tokens / tokens.text_bytes
        every = [replace(stage, tokens=round(stage.text_bytes * rate)) for stage in every]
        if kept.text_bytes == tokens.text_bytes:
            every[-1] = replace(every[-1], tokens=tokens.tokens, tokens_estimated=False)
    name = tokens.tokenizer if tokens is not None else ""
    return Funnel(
        sources=tuple(sources),
        stages=tuple(every),
        tokenizer=name,
        normalised=stage_counts.get(NORMALISED, 0),
    )


def funnel_stage(rule: str, reason: str) -> str:
    """Return the stage that decided a record: `rule/reason`, or `keep` if no rule dropped it."""
    return f"{rule}/{reason}" if rule else "keep"


def stage_counts(stage: str, *, documents: int, payload: int, text: int) -> dict[str, int]:
    """Return the counts of one record, under the names that the report adds up."""
    return {f"{stage}.documents": documents, f"{stage}.payload_bytes": payload, f"{stage}.text_bytes": text}


NORMALISED = "normalised.texts"
"""Name of the count of `Funnel.normalised`."""


def edited_count(rule: str) -> str:
    """Return the name of the count of documents that a rule edited, dropped documents included."""
    return f"{rule}.edited"
