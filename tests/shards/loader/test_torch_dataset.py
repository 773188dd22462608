"""A DataLoader with workers gives the order of the run, and a StatefulDataLoader continues it."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.shards.loader.made_export import documents_of, make_export
from tests.torchenv import environment, torch_python
from thresher.shards.loader.exact_loader import Loader

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PROGRAM = Path(__file__).with_name("torch_program.py")
OPTIONS = {"length": 32, "batch_size": 2, "mix": {"web": 0.6, "books": 0.4}, "epochs": 2}


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    root = tmp_path_factory.mktemp("export")
    make_export(root, {"books": documents_of("books", 60, sizes=(20, 90)), "web": documents_of("web", 230)})
    return root


@pytest.fixture(scope="module")
def run(export, tmp_path_factory, request):
    """Runs the program with a plan."""
    interpreter = torch_python(request.config.cache)
    cache = str(tmp_path_factory.mktemp("cache"))

    def run_program(options=None, **plan):
        plan = {
            "export": str(export),
            "options": {**OPTIONS, "cache": cache, **(options or {})},
            "take": None,
            **plan,
        }
        done = subprocess.run(
            [interpreter, PROGRAM, json.dumps(plan)],
            check=False,
            capture_output=True,
            text=True,
            env=environment(),
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run_program


@pytest.fixture(scope="module")
def whole(export, tmp_path_factory):
    loader = Loader(export, **OPTIONS, cache=tmp_path_factory.mktemp("cache"))  # type: ignore[arg-type]
    return [row for batch in loader for row in batch["input_ids"].tolist()]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_workers_do_not_change_the_order(run, whole, workers):
    assert run(workers=workers)["rows"] == whole


def test_a_stateful_dataloader_continues_exactly(run, whole):
    first = run(workers=2, take=11, stateful=True)
    rest = run(workers=2, stateful=True, state=first["state"])
    assert first["rows"] + rest["rows"] == whole


def test_a_state_after_a_batch_continues_with_other_workers_and_batches(run, whole):
    first = run(workers=3, take=11)
    rest = run(workers=2, state=first["state"], options={"batch_size": 1})
    assert first["rows"] == whole[:22]
    assert first["rows"] + rest["rows"] == whole[: len(first["rows"] + rest["rows"])]
    assert len(rest["rows"]) >= len(whole) - 22
