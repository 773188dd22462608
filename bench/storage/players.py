"""Whether the players that people use show what a WACZ holds.

usage: python -m bench.storage.players FILE.wacz [FILE.wacz ...] [--pages N]

Opens up to N listed pages of each file in ReplayWeb.page in Chromium, and asks pywb for all successful answers in the
index. One line of JSON: pages opened, those that show nothing, broken images, addresses asked for, and those that pywb
does not answer with 200.
"""

import argparse
import gzip
import json
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

from tests.replaywebpage import launched_browser, player, replaywebpage
from tests.storage.pywbenv import programs, pywb, replayed


class Cache:
    """Where the tests keep the programs of others."""

    def mkdir(self, name: str) -> Path:
        """Return the directory for one of them."""
        path = Path(".pytest_cache/d") / name
        path.mkdir(parents=True, exist_ok=True)
        return path.resolve()


def main() -> None:
    """Open all files, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--pages", type=int, default=10)
    args = parser.parse_args()
    found = {
        file.stem: {**in_replaywebpage(file.resolve(), args.pages), **in_pywb(file.resolve())}
        for file in args.files
    }
    print(json.dumps({"bench": "players", "files": found}))


def in_replaywebpage(file: Path, most: int) -> dict[str, Any]:
    """Open pages in ReplayWeb.page."""
    with ZipFile(file) as package:
        listed = [json.loads(line)["url"] for line in package.read("pages/pages.jsonl").splitlines()[1:]]
    pages = list(dict.fromkeys(listed))[:most]
    with launched_browser() as browser, player(browser, replaywebpage(Cache()), file.parent) as opened:
        shown = {url: opened.open(file.name, url) for url in pages}
    return {
        "pages": len(shown),
        "not_shown": [url for url, each in shown.items() if each.text == "(nothing is shown)"],
        "broken_images": sum(each.broken_images for each in shown.values()),
    }


def in_pywb(file: Path) -> dict[str, Any]:
    """Ask pywb for everything."""
    with ZipFile(file) as package:
        (name,) = (
            name for name in package.namelist() if name.startswith("indexes/") and name.endswith(".gz")
        )
        lines = [line.split(" ", 2) for line in gzip.decompress(package.read(name)).decode().splitlines()]
    rows = [(timestamp, json.loads(fields)) for _, timestamp, fields in lines]
    asked = [
        (timestamp, row["url"])
        for timestamp, row in rows
        if row["url"].startswith("http") and row.get("status", "200") == "200"
    ]
    tools = programs(Cache())
    with TemporaryDirectory() as name:
        directory = Path(name)
        for words in (["init", "site"], ["add", "site", str(file), "--unpack-wacz"]):
            subprocess.run([tools / "wb-manager", *words], cwd=directory, check=True, capture_output=True)
        with pywb(tools, directory) as address:
            statuses = {url: replayed(f"{address}/site", url, timestamp)[0] for timestamp, url in asked}
    return {
        "addresses": len(statuses),
        "not_answered": [url for url, status in statuses.items() if status != 200],
    }


if __name__ == "__main__":
    main()
