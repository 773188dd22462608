"""Writes what `make demo` ends in into README.md, demo/expected.json, and its picture, docs/funnel.svg; with --check,
fails where they say otherwise.

The demo is the same every time: its web is made from a seed, and one worker crawls it, so that what is a revisit
record does not depend on which worker came first. It takes some 30 seconds.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.reports import report

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "funnel.svg"
BLOCK = re.compile(r"(?<=<!-- written by `make docs` -->\n```\n).+?(?=\n```\n)", re.DOTALL)
TABLE = re.compile(r"Funnel of main .*?(?=shards: )", re.DOTALL)
"""The funnel as a table: README has its picture."""
STYLE: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "thresher", "font.family": "sans-serif"}
"""Text stays text, and names of shapes are the same every time."""


def demo_output() -> tuple[str, str]:
    """Run the demo. Return the command that it types with what that prints, and the picture of its funnel."""
    with tempfile.TemporaryDirectory(prefix="thresher-readme-") as directory:
        done = subprocess.run(
            [sys.executable, "-m", "demo", *([] if "--check" in sys.argv else ["--accept"])],
            cwd=directory,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        printed = done.stdout
        if done.returncode:
            sys.exit(printed)
        drawn = picture(Path(directory) / "demo-out")
    command = printed[printed.index("$ thresher") : printed.index("\nDone in")].rstrip()
    lines = TABLE.sub("[the funnel, as in the picture above]\n", command).split("\n")
    return "\n".join(line.rstrip() for line in lines), drawn


def picture(directory: Path) -> str:
    """Return what `thresher report --plot` draws of a project, without the time at which it was drawn."""
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    file = directory / "funnel.svg"
    with mpl.rc_context(STYLE):
        report.plot(report.funnel_of(OpenProject.at(directory), ("main",)), file)
    drawn = re.sub(r"\s*<metadata>.*?</metadata>", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
    return "\n".join(line.rstrip() for line in drawn.split("\n"))


def main() -> int:
    """Write, or compare."""
    before = README.read_text(encoding="utf-8")
    text, drawn = demo_output()
    after, blocks = BLOCK.subn(lambda _: text, before)
    assert blocks == 1
    if "--check" not in sys.argv:
        README.write_text(after, encoding="utf-8")
        PICTURE.write_text(drawn, encoding="utf-8")
    elif before != after or PICTURE.read_text(encoding="utf-8") != drawn:
        sys.stderr.write(f"{README} or {PICTURE} shows another demo than `make demo` does; run `make docs`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
