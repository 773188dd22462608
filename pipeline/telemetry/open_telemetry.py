"""`OpenTelemetryTracer`: records spans with OpenTelemetry. Its packages are the extra `telemetry`, imported on use."""

import atexit
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar

from thresher.core import InputError
from thresher.core.installation.extras import missing_extra

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
PREFIX = "thresher."
"""Begins the names of our attributes (OpenTelemetry's naming rules: a namespace for each application)."""
FLUSH_MS = 5_000
"""Milliseconds that the end of a process waits for a collector."""


def is_enabled(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether the standard variables ask for traces."""
    return (
        any(environment.get(name) for name in ENDPOINTS)
        and environment.get("OTEL_SDK_DISABLED", "").lower() != "true"
        and environment.get("OTEL_TRACES_EXPORTER", "otlp") == "otlp"
    )


class OpenTelemetryTracer:
    """The tracer of this process. Sampler, endpoint, headers and time-outs are those of the OTEL_* variables."""

    _is_collector_lost: ClassVar[bool] = False
    """Whether this process has waited for its collector in vain; it does so once."""

    def __init__(self) -> None:
        """Set OpenTelemetry up, once a process. Raise `InputError` if the extra is not installed, or if OpenTelemetry
        refuses the value of a variable.
        """
        try:
            self._set_up()
        except ImportError:
            need = f"{ENDPOINTS[0]} asks for traces, which need OpenTelemetry"
            raise missing_extra("telemetry", need, "unset the variable") from None
        except ValueError as error:
            reason = " ".join(str(error).split())
            raise InputError(f"an OTEL_* variable has a wrong value ({reason}); change or unset it") from None

    def _set_up(self) -> None:
        # `propagate` refuses a wrong OTEL_PROPAGATORS now, not at the first page.
        from opentelemetry import propagate, trace  # noqa: F401, PLC0415 - an extra
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

        self._trace: Any = trace
        if not isinstance(trace.get_tracer_provider(), TracerProvider):
            names = {} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": "thresher"}
            # Its own handler at exit waits as long as the collector hangs.
            provider = TracerProvider(
                resource=Resource.create({**names, "process.pid": os.getpid()}), shutdown_on_exit=False
            )
            provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
            trace.set_tracer_provider(provider)
            atexit.register(self.flush)
        self._tracer = trace.get_tracer("thresher")

    def span(
        self, name: str, attributes: Mapping[str, str | int | float], *, is_root: bool = False
    ) -> AbstractContextManager[object]:
        """See `core.tracing.Tracer`."""
        from opentelemetry.context import Context  # noqa: PLC0415 - an extra

        named = {f"{PREFIX}{key}": value for key, value in attributes.items()}
        if not is_root:
            return self._tracer.start_as_current_span(name, attributes=named)
        links = [self._trace.Link(self._trace.get_current_span().get_span_context())]
        return self._tracer.start_as_current_span(name, context=Context(), attributes=named, links=links)

    def current(self) -> tuple[str, str]:
        """See `core.tracing.Tracer`."""
        context = self._trace.get_current_span().get_span_context()
        return (f"{context.trace_id:032x}", f"{context.span_id:016x}") if context.is_valid else ("", "")

    def traceparent(self) -> str:
        """See `core.tracing.Tracer`."""
        from opentelemetry.propagate import inject  # noqa: PLC0415 - an extra

        carrier: dict[str, str] = {}
        inject(carrier)
        return carrier.get("traceparent", "")

    @contextmanager
    def continuing(self, traceparent: str) -> Iterator[None]:
        """Make spans of this context children of the span of another process or thread."""
        from opentelemetry.context import attach, detach  # noqa: PLC0415 - an extra
        from opentelemetry.propagate import extract  # noqa: PLC0415

        token = attach(extract({"traceparent": traceparent} if traceparent else {}))
        try:
            yield
        finally:
            detach(token)

    def flush(self) -> None:
        """Send the spans that have ended. A collector that does not answer costs `FLUSH_MS` once a process, and the
        spans.
        """
        if OpenTelemetryTracer._is_collector_lost:
            return
        # OpenTelemetry's `force_flush` ignores its time-out: a collector that hangs would take 10 s for each 512 spans.
        sending = threading.Thread(target=self._trace.get_tracer_provider().force_flush, daemon=True)
        sending.start()
        sending.join(FLUSH_MS / 1000)
        OpenTelemetryTracer._is_collector_lost = sending.is_alive()

    def __repr__(self) -> str:
        return "<tracer of OpenTelemetry>"
