"""Render the manual of Python's own library with `pydoc`: real pages that every machine with Python has.

The same interpreter renders the same bytes. Addresses of objects, values of variables, paths of files and links to
other hosts are left out, because they would differ between machines or lead into the open web.
"""

import builtins
import importlib
import json
import pydoc
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from demo.site import Site

_MODULES = (
    "abc argparse array ast base64 bisect bz2 calendar cmath codecs collections colorsys configparser contextlib "
    "copy csv dataclasses datetime decimal difflib dis enum fileinput fnmatch fractions functools gettext glob "
    "graphlib gzip hashlib heapq hmac html io ipaddress itertools json keyword linecache logging lzma math "
    "mimetypes numbers operator pathlib pickle pprint queue random re sched secrets shelve shlex statistics "
    "string struct textwrap token tokenize traceback types unittest uuid warnings weakref zipfile"
)
NAMES = (builtins.__name__, *_MODULES.split())
"""Modules that have a page."""

_ADDRESS = re.compile(r"(?: |&nbsp;)at(?: |&nbsp;)0x[0-9a-f]+")
_LINK = re.compile(r'<a href="([^"]*)">(.*?)</a>', re.DOTALL)
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class _Html(pydoc.HTMLDoc):
    """pydoc's own pages, without the values that differ between machines."""

    def docother(self, object: object, name: str | None = None, mod: str | None = None, *rest: object) -> str:  # noqa: A002
        if isinstance(object, _PLAIN):
            return super().docother(object, name, mod, *rest)
        return f"<strong>{name}</strong>" if name else type(object).__name__


def manual(site: Site) -> None:
    """Write the host: an index, one page a module, and the page of built-in names, to which all others link."""
    site.file("/robots.txt", "text/plain", b"User-agent: *\nDisallow: /search\n", linked=False)
    for name, html in pages().items():
        site.page(f"/{name}.html", html)
    items = "\n".join(f'<li><a href="{name}.html">{name}</a></li>' for name in NAMES)
    body = f"<h1>Library</h1>\n<ul>\n{items}\n</ul>\n"
    site.page("/", _page("Index of modules", body))


@cache
def pages() -> dict[str, str]:
    """Return the page of each module, rendered by another interpreter, on which this one's imports have no effect."""
    script = "import json, demo.manual as m; print(json.dumps({n: m.render_module(n) for n in m.NAMES}))"
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True
    )
    return dict(json.loads(done.stdout))


def render_module(name: str) -> str:
    """Return the page of one module, as this interpreter sees it."""
    html = _Html().docmodule(importlib.import_module(name), name)
    return _page(f"Module {name}", _LINK.sub(_keep_link, _ADDRESS.sub("", html)))


def _keep_link(match: re.Match[str]) -> str:
    """Return a link within the host unchanged; replace a link to a file by its name, any other link by its text."""
    target, text = match.groups()
    if target.startswith("file:"):
        return target.rpartition("/")[2]
    page = target.partition("#")[0]
    inside = target.startswith("#") or page.removesuffix(".html") in NAMES
    return match.group() if inside else text


def _page(title: str, body: str) -> str:
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>\n'
        f'<body><p class="nav"><a href="./">Index of modules</a></p>\n{body}\n</body></html>\n'
    )
