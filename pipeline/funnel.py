"""The funnel: where every record went, in the order in which the filters stand.

Rules
1. The first stage is every response of the sources, archived or dropped before; it is 100 %.
2. Each record is counted once, at the stage that decided it; the stages add up to the first.
3. Documents, payload bytes and text bytes are counted exactly, by the same code that decided. Tokens are
   exact where a tokenizer saw the text; everywhere else they are text bytes at the rate of the exported
   ones, and marked as estimated.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What one stage took out, or what came out at the end."""

    name: str
    documents: int
    payload_bytes: int
    text_bytes: int
    tokens: int | None = None
    tokens_estimated: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCounts:
    """What a tokenizer made of exported text."""

    tokenizer: str
    tokens: int
    text_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    """Stages in filter order; the last is what was kept."""

    sources: tuple[str, ...]
    stages: tuple[Stage, ...]
    tokenizer: str
    """The one that tokens were counted with; empty where none was."""

    @property
    def records(self) -> int:
        """Responses that entered."""
        return sum(stage.documents for stage in self.stages)

    @property
    def payload_bytes(self) -> int:
        """Decoded payload bytes that entered."""
        return sum(stage.payload_bytes for stage in self.stages)

    @property
    def kept(self) -> Stage:
        """The last stage."""
        return self.stages[-1]

    def to_dict(self) -> dict[str, object]:
        """JSON form, with each stage's share of the documents that entered."""
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
    """Put the counts of the process step in order, and take from the kept what deduplication removed.

    `stage_counts` are the summed counts of `pipeline.steps.process`; `tokens` are those of an export of what was kept, `unprocessed` the records
    that nobody has looked at yet.
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
    order = {rule: n for n, rule in enumerate(["archive", "early", "extract", "rights", *rule_order])}
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
    return Funnel(sources=tuple(sources), stages=tuple(every), tokenizer=name)
