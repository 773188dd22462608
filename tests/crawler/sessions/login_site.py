"""A site on loopback whose pages only members see, and which remembers what every request carried."""

from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs

import psutil

SECRET = "s3cr3t-of-the-session"
USER, PASSWORD = "ada", "pa55word-of-ada"
FORM = """<!doctype html><title>Log in</title><form><input type=search name=q></form>
<form method=post action=/login><input name=user><input name=password type=password><button>Log in</button></form>"""
MEMBERS = "<!doctype html><title>{path}</title><p>What only members read, at {path}.</p>"


def seen_of_children():
    """What others on the machine see of each process that this one has started: its arguments and its environment."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has ended meanwhile
            yield repr((process.cmdline(), process.environ()))


class LoginSite:
    """Members have the cookie `sid`. `end` says how everybody else is answered."""

    def __init__(self, address="127.0.0.1"):
        self.address = address
        self.end = "redirect"
        self.secret = SECRET
        self.pages = {}
        self.headers = {}
        self.requests = []

    @property
    def url(self):
        return f"http://{self.address}:{self.port}"

    @property
    def login_url(self):
        return f"{self.url}/login"

    def cookies(self, path):
        """The Cookie headers of the requests for a path; empty where there was none."""
        return [headers.get("Cookie", "") for _, asked, headers in self.requests if asked == path]

    def agents(self, path):
        return [headers.get("User-Agent", "") for _, asked, headers in self.requests if asked == path]

    @property
    def paths(self):
        return [path for _, path, _ in self.requests]

    def answer(self, path, cookie):
        """Status, headers and body of a GET."""
        place = path.partition("?")[0]
        if place == "/robots.txt":
            return 404, {}, ""
        if place == "/login":
            return 200, {}, FORM
        if place in self.pages.get("public", ()):
            return 200, {}, self.pages["public"][place]
        if f"sid={self.secret}" in cookie:
            return self.member_page(place)
        match self.end:
            case "redirect":
                return 302, {"Location": f"/login?next={place}"}, ""
            case "status":
                return 401, {}, "who are you?"
            case "form":
                return 200, {}, FORM
            case _:
                return 200, {}, self.end

    def member_page(self, place):
        return 200, self.headers.get(place, {}), self.pages.get(place, MEMBERS.format(path=place))

    @contextmanager
    def serve(self):
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                site.requests.append(("GET", self.path, dict(self.headers)))
                self.send(*site.answer(self.path, self.headers.get("Cookie", "")))

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                site.requests.append(("POST", self.path, dict(self.headers)))
                if parse_qs(body) == {"user": [USER], "password": [PASSWORD]}:
                    cookie = f"sid={site.secret}; Path=/; HttpOnly"
                    self.send(303, {"Location": "/account", "Set-Cookie": cookie}, "")
                else:
                    self.send(200, {}, FORM)

            def send(self, status, headers, body):
                content = body.encode()
                self.send_response(status)
                for name, value in {"Content-Type": "text/html; charset=utf-8", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        with ThreadingHTTPServer((self.address, 0), Handler) as server:
            server.daemon_threads = True
            self.port = server.server_port
            Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
            yield self
            server.shutdown()
