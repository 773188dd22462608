"""Writes what `make demo` ends in into README.md; with --check, fails where README says otherwise.

The demo is the same every time: its web is made from a seed, and one worker crawls it, so that what is a revisit record does not
depend on which worker came first. It takes some 30 seconds.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"(?<=<!-- written by `make docs` -->\n```\n).+?(?=\n```\n)", re.DOTALL)


def demo_output() -> str:
    """The command that the demo types, and what it answers."""
    with tempfile.TemporaryDirectory(prefix="thresher-readme-") as directory:
        said = subprocess.run(
            [sys.executable, "-m", "demo"],
            cwd=directory,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
        ).stdout
    lines = said[said.index("$ thresher") : said.index("\nDone in")].rstrip().split("\n")
    return "\n".join(line.rstrip() for line in lines)


def main() -> int:
    """Write, or compare."""
    before = README.read_text(encoding="utf-8")
    after, blocks = BLOCK.subn(lambda _: demo_output(), before)
    assert blocks == 1
    if "--check" not in sys.argv:
        README.write_text(after, encoding="utf-8")
    elif before != after:
        sys.stderr.write(f"{README} shows another demo than `make demo` does; run `make docs`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
