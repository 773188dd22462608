"""`code`: the function library that runs in the server, one text made of the files in `lua/`.

The files are one chunk, so what stands in one is seen by those after it; but what stands in a file of verbs is seen there
only, because a chunk of Lua has at most 200 local names. A name is spelt once: `verb('lease', ...)` in `grant.lua` is what
the client calls `lease`.
"""

from functools import cache
from importlib.resources import files

SHARED = (
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
)
VERBS = (
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
    shared, verbs = (
        [folder.joinpath(f"{name}.lua").read_text(encoding="utf-8") for name in names]
        for names in (SHARED, VERBS)
    )
    return "\n".join((*shared, *(f"do\n{text}end" for text in verbs)))
