"""A crawl as several WACZ files: which of them must be at hand to replay which, and the list that players open.

1. The list is a JSON file with the profile `multi-wacz-package`, as Browsertrix and ReplayWeb.page have it. It names
   each WACZ file beside it with its size and SHA-256.
2. A revisit is shown with the payload of another record. If that lies in another file, `relation.requires` in the
   revisit's own file names it, as browsertrix-crawler writes it: ReplayWeb.page looks for payloads there too.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from heapq import merge
from itertools import groupby
from pathlib import Path
from typing import Any

from thresher.storage.manifest import digest

MAX_PARTS = 200
"""Files of one export, which are all open until its end."""
PROFILE = "multi-wacz-package"


def required_parts(payloads: Sequence[Path], needs: Sequence[Path]) -> list[list[int]]:
    """Return for each part the numbers of the others that hold payloads of its revisits. Both sequences have a file of
    sorted keys for each part. Memory does not grow with the keys.
    """
    required: list[set[int]] = [set() for _ in needs]
    with ExitStack() as life:

        def keys(path: Path, number: int, is_need: bool) -> Iterator[tuple[str, bool, int]]:
            file = life.enter_context(path.open(encoding="ascii", newline="\n"))
            return ((line, is_need, number) for line in file)

        files = [(paths, is_need) for paths, is_need in ((payloads, False), (needs, True))]
        tagged = merge(
            *(keys(path, at, is_need) for paths, is_need in files for at, path in enumerate(paths))
        )
        for _, same in groupby(tagged, key=lambda each: each[0]):
            found = set(same)
            having = {number for _, is_need, number in found if not is_need}
            for _, is_need, number in found:
                if is_need and number not in having:
                    required[number] |= having
    return [sorted(numbers) for numbers in required]


def requires(names: Sequence[str]) -> dict[str, Any]:
    """Return what the description of a WACZ says if its revisits need the files of these names."""
    return {"relation": {"requires": [{"filename": name} for name in names]}} if names else {}


def part_names(out: Path, count: int) -> list[str]:
    """Return the names of the WACZ files beside the list `out`."""
    return [f"{out.stem}-{number:03d}.wacz" for number in range(1, count + 1)]


def publish_parts(out: Path, parts: Mapping[str, Path], facts: Mapping[str, str]) -> None:
    """Move the files beside `out` under their names, and write the list of them there; `facts` stand in it.

    The list is there only while all its files are: an older one is deleted first.
    """
    resources = [
        {"name": name, "path": name, "hash": f"sha256:{digest(path)}", "bytes": path.stat().st_size}
        for name, path in parts.items()
    ]
    body = json.dumps({"profile": PROFILE, **facts, "resources": resources}, indent=2)
    spool = next(iter(parts.values())).with_name("list")
    spool.write_text(f"{body}\n", encoding="ascii")
    out.unlink(missing_ok=True)
    for name, path in parts.items():
        path.replace(out.with_name(name))
    spool.replace(out)
