"""README shows what the demo really ends in."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_readme_shows_what_make_demo_ends_in():
    checked = subprocess.run(
        [sys.executable, ROOT / "docs" / "readme.py", "--check"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
