"""`TraceContext`: what travels from a command to its worker processes and actors, so that they continue its trace."""

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from thresher.core import InputError
from thresher.core.tracing import current_identifiers, current_tracer, identified, span, traced_by
from thresher.pipeline.telemetry.json_log import LOG_FORMAT_VARIABLE, is_json, write_json_logs
from thresher.pipeline.telemetry.open_telemetry import OpenTelemetryTracer, is_enabled

LOGGER = logging.getLogger(__name__)
SECRET_WORDS = ("HEADERS", "KEY", "CERTIFICATE")
"""Variables with these words in their names do not travel to other machines: each node has its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceContext:
    """The span and the identifiers of one moment. Can be pickled."""

    traceparent: str = ""
    """The span (W3C Trace Context); empty if nothing is traced."""
    identifiers: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    """The variables that ask for traces and say how log lines look."""


NO_TRACE = TraceContext()


def trace_context() -> TraceContext:
    """Return the context of now, for a worker."""
    tracer = current_tracer()
    variables = {LOG_FORMAT_VARIABLE: "json"} if is_json() else {}
    if tracer is not None:
        variables.update(
            (name, value)
            for name, value in os.environ.items()
            if name.startswith("OTEL_") and not any(word in name for word in SECRET_WORDS)
        )
    return TraceContext(
        traceparent="" if tracer is None else tracer.traceparent(),
        identifiers=dict(current_identifiers()),
        variables=variables,
    )


@contextmanager
def joined(context: TraceContext, *, is_whole_process: bool) -> Iterator[None]:
    """Continue a trace in another process or thread. Variables that are set here already stay.

    With `is_whole_process` the context is all that its process does: log lines become JSON if they are to, and spans
    are sent when it ends.
    """
    with ExitStack() as stack:
        for name, value in context.variables.items():
            os.environ.setdefault(name, value)
        if is_whole_process and is_json():
            write_json_logs()
        stack.enter_context(identified(**context.identifiers))
        if context.traceparent and is_enabled() and (tracer := _tracer()) is not None:
            if is_whole_process:
                stack.callback(tracer.flush)
            stack.enter_context(tracer.continuing(context.traceparent))
            stack.enter_context(traced_by(tracer))
        yield


def _tracer() -> OpenTelemetryTracer | None:
    """Return the tracer of a worker. The variables of its node may be wrong: that costs spans, and not the work."""
    try:
        return OpenTelemetryTracer()
    except InputError as error:
        LOGGER.warning("no traces: %s", error)
        return None


@contextmanager
def command_telemetry(name: str) -> Iterator[None]:
    """Trace a command, if the standard variables ask for it, and write its log lines in the chosen format."""
    if is_json():
        write_json_logs()
    if not is_enabled():
        yield
        return
    tracer = OpenTelemetryTracer()
    try:
        with (
            tracer.continuing(os.environ.get("TRACEPARENT", "")),
            traced_by(tracer),
            span(f"thresher {name}"),
        ):
            yield
    finally:
        tracer.flush()
