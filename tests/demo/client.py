"""A client with nothing between the test and the wire."""

import gzip
import http.client
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    headers: dict
    body: bytes

    @property
    def html(self):
        return self.headers.get("content-type", "").startswith("text/html")

    @property
    def text(self):
        body = gzip.decompress(self.body) if self.headers.get("content-encoding") == "gzip" else self.body
        charset = self.headers.get("content-type", "").partition("charset=")[2] or "utf-8"
        return body.decode(charset, "replace")


class Client:
    """Asks over one kept connection per host."""

    def __init__(self):
        self._connections = {}

    def get(self, url, method="GET", **headers):
        parts = urlsplit(url)
        connection = self._connections.get(parts.netloc)
        if connection is None:
            connection = self._connections[parts.netloc] = http.client.HTTPConnection(
                parts.netloc, timeout=20
            )
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target, headers={k.replace("_", "-"): v for k, v in headers.items()})
        response = connection.getresponse()
        return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())

    def follow(self, url, hops=10):
        """URL and reply at the end of the redirects; None for a loop."""
        for _ in range(hops):
            reply = self.get(url)
            if reply.status not in {301, 302, 307, 308}:
                return url, reply
            url = urljoin(url, reply.headers["location"])
        return None

    def close(self):
        for connection in self._connections.values():
            connection.close()
