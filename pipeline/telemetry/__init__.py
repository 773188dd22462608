"""Traces and structured logs of all processes of a command.

The entry points are `command_telemetry` (a command) and `joined` (a worker process, thread or actor, which continues
the trace of its command).

1. Spans go to an OpenTelemetry collector, by OTLP over HTTP, if the standard variables say where
   (OTEL_EXPORTER_OTLP_ENDPOINT; docs/guides/monitoring.md). Without them nothing is imported and nothing recorded.
2. A collector that does not answer costs spans and never the work.
3. Log lines are JSON with `--log-format json`. They carry the identifiers of `core.tracing`, and the ids of the span.
"""
