"""`code`: the function library that runs in the server, one text made of the files in `lua/`.

The files are one chunk, so what stands in one of `NOUNS` is seen by those after it. What stands in one of `VERBS` is seen there
alone: a chunk has at most 200 local names. A name is spelt once: `verb('lease', ...)` in `grant.lua` is what the client calls
`lease`.
"""

from functools import cache
from importlib.resources import files

NOUNS = (
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
    read = {name: folder.joinpath(f"{name}.lua").read_text(encoding="utf-8") for name in (*NOUNS, *VERBS)}
    return "\n".join([*(read[name] for name in NOUNS), *(f"do\n{read[name]}\nend" for name in VERBS)])
