"""A real OTLP receiver on loopback: it decodes what the exporter sends, by OpenTelemetry's own protobuf."""

import gzip
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


class Collector:
    """The spans that arrived."""

    def __init__(self):
        self.spans = []
        self.services = set()
        self.url = ""

    def take(self, body):
        request = ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            named = {each.key: each.value for each in resource.resource.attributes}
            self.services.add(named["service.name"].string_value)
            for scope in resource.scope_spans:
                self.spans.extend((Span(span, named["process.pid"].int_value)) for span in scope.spans)

    def named(self, name):
        return [span for span in self.spans if span.name == name]

    def environment(self, **more):
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url, "OTEL_BSP_SCHEDULE_DELAY": "100", **more}


class Span:
    """One span."""

    def __init__(self, span, pid):
        self.name, self.pid = span.name, pid
        self.trace, self.id, self.parent = span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()
        self.links = [link.trace_id.hex() for link in span.links]
        self.status = span.status.code
        self.attributes = {
            each.key: each.value.string_value or each.value.int_value for each in span.attributes
        }

    def __repr__(self):
        return f"<{self.name} {self.attributes}>"


@contextmanager
def collecting():
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            assert self.path == "/v1/traces"
            assert self.headers["Content-Type"] == "application/x-protobuf"
            collector.take(body)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.end_headers()
            self.wfile.write(ExportTraceServiceResponse().SerializeToString())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
