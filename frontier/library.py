"""`code`: the function library that runs in the server, one text made of the files in `lua/`.

The files are one chunk, so what stands in one is seen by those after it. A name is spelt once: `verb('lease', ...)` in
`grant.lua` is what the client calls `lease`.
"""

from functools import cache
from importlib.resources import files

FILES = (
    "head",  # what is kept, under which keys, and the rules
    "clock",
    "batch",
    "entry",
    "domain",
    "host",
    "queue",
    "run",
    "seen",
    "robots",
    "circuit",
    "origin",
    "novelty",
    "bars",
    "leases",
    # the verbs
    "add",
    "grant",
    "settle",
    "settle_robots",
    "address",
    "operate",
    "tail",
    "crawl",
    # of the home
    "flow",
    "workers",
)


@cache
def code() -> str:
    """Return the library's text, which is also its version."""
    folder = files("frontier").joinpath("lua")
    return "\n".join(folder.joinpath(f"{name}.lua").read_text(encoding="utf-8") for name in FILES)
