"""README shows what the demo really ends in."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BROKEN = """
from thresher.extract.markup import links
links.extract_links = lambda html, url, codec="": links.PageLinks(base=url, hrefs=(), metas=(), truncated=0)
"""
"""What CPython 3.11.2 made of the expression that finds links."""


@pytest.mark.slow
def test_readme_shows_what_make_demo_ends_in():
    checked = subprocess.run(
        [sys.executable, ROOT / "docs" / "readme.py", "--check"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr


@pytest.mark.slow
def test_a_demo_whose_links_are_lost_fails_and_says_so(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(BROKEN)
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}

    def run(*words):
        return subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )

    demo = run("-m", "demo")
    assert demo.returncode == 1, demo.stderr
    assert (
        "  6 of 6 fetched pages hold `<a` with an address, and no link was found in them; look at "
        in demo.stdout
    )
    assert "\n  kept: expected 201, found 0; look: " in demo.stdout
    status = json.loads(run("-m", "thresher", "status", "--json", "--project", "demo-out").stdout)
    assert status["sources"][0]["linkless"].startswith("6 of 6 fetched pages hold")
