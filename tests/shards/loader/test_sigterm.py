"""A SIGTERM ends the loop after the step in work, with the position saved."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from shards.loader.exact_loader import Loader
from tests.shards.loader.made_export import documents_of, make_export

ROOT = Path(__file__).resolve().parents[3]


def test_the_position_is_saved_and_the_run_goes_on_there(tmp_path):
    make_export(tmp_path / "out", {"web": documents_of("web", 4000)})
    saved = tmp_path / "state.json"
    process = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("sigterm_program.py"), tmp_path / "out", tmp_path / "cache", saved],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    printed = [process.stdout.readline() for _ in range(3)]  # type: ignore[union-attr]
    process.send_signal(signal.SIGTERM)
    rest, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    *steps, last = [*printed, *rest.splitlines()]  # type: ignore[misc]
    assert last == "saved True"
    state = json.loads(saved.read_text())
    assert state["sequences"] == int(steps[-1]) + 1
    loader = Loader(tmp_path / "out", length=32, batch_size=2, cache=tmp_path / "cache")
    loader.load_state_dict(state)
    assert next(iter(loader))["sequences"].tolist() == [int(steps[-1]) + 1, int(steps[-1]) + 2]
