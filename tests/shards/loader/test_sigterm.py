"""A SIGTERM ends the loop after the step in work, with the position saved."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.shards.loader.made_export import documents_of, make_export
from thresher.core import InputError, Unavailable
from thresher.shards.loader.exact_loader import Loader

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


@pytest.fixture
def loader(tmp_path):
    make_export(tmp_path / "out", {"web": documents_of("web", 40)})
    before = signal.getsignal(signal.SIGTERM)
    yield Loader(tmp_path / "out", length=32, batch_size=2, cache=tmp_path / "cache")
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("name", ["nodir/state.json", "file/state.json", "out", "", None, "a\0b", "n" * 300])
def test_a_file_that_cannot_be_written_is_refused_at_once(loader, tmp_path, name):
    (tmp_path / "file").touch()
    handler = signal.getsignal(signal.SIGTERM)
    with pytest.raises(InputError, match=r"^stop_on_sigterm\(.*give (a|the) path") as error:
        loader.stop_on_sigterm(str(tmp_path / name) if name else name)
    assert "\n" not in str(error.value)
    assert signal.getsignal(signal.SIGTERM) == handler


def test_the_check_leaves_nothing_and_the_path_stays_the_same_file(loader, tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    loader.stop_on_sigterm("state.json")
    assert list((tmp_path / "work").iterdir()) == []
    monkeypatch.chdir(tmp_path)
    batches = iter(loader)
    next(batches)
    os.kill(os.getpid(), signal.SIGTERM)
    assert list(batches) == []
    assert json.loads((tmp_path / "work" / "state.json").read_text()) == loader.state_dict()
    assert loader.state_dict()["sequences"] == 2


def test_a_state_that_cannot_be_written_after_all_is_in_the_error(loader, tmp_path):
    (tmp_path / "work").mkdir()
    loader.stop_on_sigterm(tmp_path / "work" / "state.json")
    (tmp_path / "work").rmdir()
    batches = iter(loader)
    next(batches)
    os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(
        Unavailable, match=r"state\.json cannot be written: .*; save this state yourself: "
    ) as error:
        next(batches)
    assert json.loads(str(error.value).partition("yourself: ")[2]) == loader.state_dict()


def test_another_thread_may_not_handle_signals(loader, tmp_path):
    with ThreadPoolExecutor(1) as pool, pytest.raises(InputError, match="only the main thread"):
        pool.submit(loader.stop_on_sigterm, tmp_path / "state.json").result()
