"""`library_code`: the function library that runs in the server, one text made of the files in `lua/`.

The files are one chunk, so each file of `lua/state/` sees those before it in `STATE`. The local names of a file in
`lua/verbs/` are seen only there, or in the files that it is listed with (`seen+add+regrant+inspect`), because a chunk
has at most 200 local names. A verb is named once: `verb('lease', ...)` in `grant.lua` is the `lease` that the client
calls.
"""

from functools import cache
from importlib.resources import files

STATE = (
    "head",  # what is kept, under which keys, and the rules
    "clock",
    "batch",
    "entry",
    "outbox",
    "domain",
    "host",
    "queue",
    "run",
    "robots",
    "circuit",
    "origin",
    "novelty",
    "bars",
    "leases",
    "takeover",
)
VERB_FILES = (
    "seen+add+regrant+inspect",
    "grant",
    "settle",
    "settle_robots",
    "address",
    "operate",
    "tail",
    "crawl",
    "log",
    # of the home
    "flow",
    "home",
    "workers",
    "audit",
    "fleet",
)


@cache
def library_code() -> str:
    """Return the library's text, which is also its version."""
    folder = files("thresher.frontier").joinpath("lua")

    def read(room: str, names: str) -> str:
        return "\n".join(
            folder.joinpath(room, f"{name}.lua").read_text(encoding="utf-8") for name in names.split("+")
        )

    verbs = (f"do\n{read('verbs', names)}\nend" for names in VERB_FILES)
    return "\n".join([*(read("state", name) for name in STATE), *verbs])
