"""A small site: `site.py HOST PORT PAGES LOG`. Page N links to the pages 2N+1 and 2N+2. LOG gets the path of each request."""

import http.server
import random
import sys
from pathlib import Path

WORDS = [
    "keeper",
    "lighthouse",
    "weather",
    "ship",
    "morning",
    "harbour",
    "rope",
    "lantern",
    "island",
    "winter",
    "gull",
    "storm",
    "captain",
    "letter",
    "bread",
    "candle",
    "anchor",
    "tide",
    "road",
    "garden",
    "window",
    "ladder",
    "engine",
    "market",
    "bridge",
    "river",
    "apple",
    "forest",
    "stone",
    "teacher",
    "kettle",
    "drawer",
]
HOST, PORT, PAGES, LOG = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]


def text(number):
    """Twelve sentences that no other page has. Pages that are alike would be taken for a trap."""
    choose = random.Random(number)
    sentence = "The {} of the {} had the {} and was with a {} near the {} that they have to see."
    return " ".join(sentence.format(*choose.sample(WORDS, 5)) for _ in range(12))


def page(number):
    """Return the HTML of a page."""
    links = "".join(
        f'<a href="/page/{each}">page {each}</a> '
        for each in (2 * number + 1, 2 * number + 2)
        if each < PAGES
    )
    main = f"<article><h1>Day {number}</h1><p>{text(number)}</p></article>"
    return f"<html lang=en><title>Page {number}</title>{main}<nav>{links}</nav>"


class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        with Path(LOG).open("a") as log:
            log.write(f"{self.path}\n")
        number = self.path.removeprefix("/page/")
        found = number.isdigit() and int(number) < PAGES
        body = page(int(number)).encode() if found else b""
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    http.server.ThreadingHTTPServer((HOST, PORT), Pages).serve_forever()
