"""Serve folders of real sites, each on a loopback address of its own, as a plain file server does.

1. A path is decoded once and looked up in the folder of its address. A path that leaves the folder, by `..` or by a
   symbolic link, is 404, and so is a dangling link.
2. A directory without its slash is redirected to the URL with the slash (301); with the slash, its `index.html` is
   sent. There are no listings.
3. The type comes from the file name alone (Python's table, not the machine's). No charset is declared, because a file
   server does not know it: the page declares its own.
4. `ETag` and `Last-Modified` come from the file; a request that states the current one gets 304.
5. Nothing is compressed. Only the results of path look-ups are cached, so the files must not move while they are
   served.

`python -m demo.static ADDRESS=FOLDER ...` prints `ready PORT`, and serves until SIGTERM or Ctrl-C.
"""

import argparse
import asyncio
import contextlib
import mimetypes
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from demo.wire import HttpServer, Request, Responder, Response, bind_sockets

_TYPES = mimetypes.MimeTypes(filenames=())
_TYPES.add_type("application/xhtml+xml", ".xhtml")  # the table has no such line
_NOT_FOUND = Response(
    status=404,
    headers=(("Content-Type", "text/html"),),
    body=b"<!DOCTYPE html><title>404</title><h1>Not found</h1>",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryRedirect:
    """The redirect of a request for a directory whose path has no slash at its end."""

    location: str


@lru_cache(maxsize=65_536)
def locate(root: str, target: str) -> str | DirectoryRedirect | None:
    """Return the file of a request target in `root`, a redirect if it is a directory, or None if it does not exist.

    `root` is an absolute path without symbolic links.
    """
    path, question, query = target.partition("?")
    decoded = os.fsdecode(unquote_to_bytes(path))
    if "\0" in decoded or ".." in decoded.split("/"):
        return None
    found = os.path.realpath(f"{root}{decoded}")
    if found != root and not found.startswith(f"{root}/"):
        return None
    slash = decoded.endswith("/")
    if Path(found).is_dir():
        if not slash:
            return DirectoryRedirect(location=f"{quote(os.fsencode(decoded))}/{question}{query}")
        found, slash = os.path.realpath(f"{found}/index.html"), False
        if not found.startswith(f"{root}/"):
            return None
    return found if not slash and Path(found).is_file() else None


def content_type(file: str) -> str:
    """Return the media type by the name of a file; for unknown and compressed files, the type for any bytes."""
    kind, coding = _TYPES.guess_type(file)
    if coding == "gzip":
        return "application/gzip"
    return kind if kind and not coding else "application/octet-stream"


def answer(root: str, request: Request) -> Response:
    """Return the response to a request for the folder `root`."""
    match locate(root, request.target):
        case None:
            return _NOT_FOUND
        case DirectoryRedirect(location=location):
            return Response(status=301, headers=(("Location", location),))
        case file:
            with Path(file).open("rb") as stream:
                facts, body = os.fstat(stream.fileno()), stream.read()
    etag = f'"{facts.st_mtime_ns:x}-{facts.st_size:x}"'
    modified = formatdate(facts.st_mtime, usegmt=True)
    headers = (("Content-Type", content_type(file)), ("ETag", etag), ("Last-Modified", modified))
    known = request.headers.get("if-none-match")
    # RFC 9110, section 13.2.2: if the client sent a tag, the tag alone decides
    fresh = known == etag if known else request.headers.get("if-modified-since") == modified
    return Response(status=304 if fresh else 200, headers=headers, body=b"" if fresh else body)


def folder_responder(trees: Mapping[str, Path], log: Callable[[str], object] | None = None) -> Responder:
    """Return the responder for these folders by address; `log` gets one line for every request.

    A line has five fields between tabs: seconds on the monotonic clock, address, target, status, user agent.
    """
    roots = {address: os.path.realpath(folder) for address, folder in trees.items()}

    def respond(request: Request) -> Response:
        sent = answer(roots[request.address], request)
        if log:
            agent = request.headers.get("user-agent", "")
            log(f"{time.monotonic():.6f}\t{request.address}\t{request.target}\t{sent.status}\t{agent}\n")
        return sent

    return respond


def serve(
    trees: Mapping[str, Path], *, port: int, ready: Callable[[int], object], log: Path | None, attached: bool
) -> None:
    """Serve until SIGTERM or Ctrl-C; if `attached`, also until standard input ends, because the parent has ended then.

    `ready` is called once with the port, when every address accepts connections. Raise `Unavailable` if an address or
    the port is not available.
    """
    port, sockets = bind_sockets(list(trees), port)

    async def run() -> None:
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        for stop in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(stop, done.set)
        if attached:
            loop.add_reader(sys.stdin, done.set)
        listening = HttpServer(folder_responder(trees, lines.write if lines else None))
        await listening.start(sockets)
        ready(port)
        await done.wait()
        listening.stop()

    with contextlib.ExitStack() as stack:
        lines = stack.enter_context(log.open("a", buffering=1, encoding="utf-8")) if log else None
        asyncio.run(run())


def main() -> None:
    """Serve the folders that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m demo.static")
    parser.add_argument("trees", nargs="+", metavar="ADDRESS=FOLDER")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path, help="append one line per request to this file")
    parser.add_argument("--attached", action="store_true", help="stop when standard input ends")
    args = parser.parse_args()
    trees = {address: Path(folder) for address, _, folder in (tree.partition("=") for tree in args.trees)}
    serve(
        trees,
        port=args.port,
        ready=lambda port: print(f"ready {port}", flush=True),
        log=args.log,
        attached=args.attached,
    )


if __name__ == "__main__":
    main()
