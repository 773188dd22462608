"""`code`: the function library that runs in the server, one text made of the files in `lua/`.

The files are one chunk, so what stands in one of `FILES` is seen by those after it; what stands in one of `VERBS` is seen there
alone (a chunk of Lua has 200 local variables). A name is spelt once: `verb('lease', ...)` in `grant.lua` is what the client
calls `lease`.
"""

from functools import cache
from importlib.resources import files

FILES = (
    "head",  # what is kept, under which keys, and the rules
    "clock",
    "batch",
    "entry",
    "outbox",
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
    "inspect",
    "tail",
    "crawl",
    "log",
    # of the home
    "flow",
    "home",
    "workers",
)


@cache
def code() -> str:
    """Return the library's text, which is also its version."""
    folder = files("frontier").joinpath("lua")
    texts = {name: folder.joinpath(f"{name}.lua").read_text(encoding="utf-8") for name in (*FILES, *VERBS)}
    return "\n".join([*(texts[name] for name in FILES), *(f"do\n{texts[name]}end" for name in VERBS)])
