"""Spans and identifiers of the work in progress, without a tracing library.

1. Any package may name what it does: `with span("page", host=host):`. Without a tracer this costs one look-up.
2. `identified` names the crawl, run, part and worker. Spans and log lines inside the context carry the names.
3. `pipeline.telemetry` sets the tracer. Tasks of an event loop inherit it; threads do not.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from types import MappingProxyType
from typing import Protocol

IDENTIFIERS = ("crawl", "run", "part", "worker")
"""Names that log lines have a field for."""


class Tracer(Protocol):
    """Records spans."""

    def span(
        self, name: str, attributes: Mapping[str, str | int | float], *, is_root: bool = False
    ) -> AbstractContextManager[object]:
        """Return a context that is recorded as a span, with the error that it raises. With `is_root` it begins a trace
        of its own, with a link to the span in progress: the sampler decides on it alone.
        """
        ...

    def current(self) -> tuple[str, str]:
        """Return the ids of the trace and of the span in progress, in hexadecimal; empty if there is none."""
        ...

    def traceparent(self) -> str:
        """Return the `traceparent` of the span in progress (W3C Trace Context); empty if there is none."""
        ...


_NOTHING: Mapping[str, str] = MappingProxyType({})
_tracer: ContextVar[Tracer | None] = ContextVar("tracer", default=None)
_identifiers: ContextVar[Mapping[str, str]] = ContextVar("identifiers", default=_NOTHING)
_NO_SPAN = nullcontext()


def span(name: str, **attributes: str | float) -> AbstractContextManager[object]:
    """Return a context that is a span if there is a tracer. The identifiers become attributes too."""
    tracer = _tracer.get()
    return _NO_SPAN if tracer is None else tracer.span(name, {**_identifiers.get(), **attributes})


def root_span(name: str, **attributes: str | float) -> AbstractContextManager[object]:
    """Return a context that is a trace of its own: one of very many of its kind, of which a sampler takes some."""
    tracer = _tracer.get()
    if tracer is None:
        return _NO_SPAN
    return tracer.span(name, {**_identifiers.get(), **attributes}, is_root=True)


def current_tracer() -> Tracer | None:
    """Return the tracer of this context."""
    return _tracer.get()


def current_identifiers() -> Mapping[str, str]:
    """Return the identifiers of this context."""
    return _identifiers.get()


@contextmanager
def traced_by(tracer: Tracer | None) -> Iterator[None]:
    """Record spans of this context with a tracer; None records none."""
    token = _tracer.set(tracer)
    try:
        yield
    finally:
        _tracer.reset(token)


@contextmanager
def identified(**identifiers: str) -> Iterator[None]:
    """Add identifiers to the spans and log lines of this context."""
    token = _identifiers.set({**_identifiers.get(), **identifiers})
    try:
        yield
    finally:
        _identifiers.reset(token)
