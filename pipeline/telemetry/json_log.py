"""Log lines as JSON: one object a line on stderr, with the identifiers of `core.tracing`.

The keys are `time` (UTC, RFC 3339), `level`, `logger` and `message`; `crawl`, `run`, `part` and `worker` where they are
known; `trace_id` and `span_id` inside a span; `error` with a traceback.
"""

import json
import logging
import os
import sys
from datetime import UTC, datetime
from typing import Literal

from thresher.core.printable_address import redact_secrets
from thresher.core.tracing import IDENTIFIERS, current_identifiers, current_tracer

LogFormat = Literal["text", "json"]
LOG_FORMAT_VARIABLE = "THRESHER_LOG_FORMAT"


def is_json() -> bool:
    """Return whether log lines of this process are JSON. Child processes inherit the variable."""
    return os.environ.get(LOG_FORMAT_VARIABLE) == "json"


def json_line(message: str, *, level: str = "INFO", logger: str = "thresher", error: str = "") -> str:
    """Return a log line without its end. It is ASCII: no terminal or viewer is led astray by foreign texts in it."""
    body = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": level,
        "logger": logger,
        "message": redact_secrets(message),
    }
    known = current_identifiers()
    body.update({name: known[name] for name in IDENTIFIERS if name in known})
    tracer = current_tracer()
    trace_id, span_id = tracer.current() if tracer is not None else ("", "")
    if trace_id:
        body.update(trace_id=trace_id, span_id=span_id)
    if error:
        body["error"] = redact_secrets(error)
    return json.dumps(body)


class JsonFormatter(logging.Formatter):
    """Formats a record of `logging` as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        error = self.formatException(record.exc_info) if record.exc_info else ""
        return json_line(record.getMessage(), level=record.levelname, logger=record.name, error=error)


def write_json_logs() -> None:
    """Write warnings and errors of `logging` to stderr as JSON from now on, in this process."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
