"""`thresher annotate` as a user types it: with workers of its own, killed, and typed again."""

import json
import signal

import pytest

from tests.pipeline.steps.annotations.annotated_project import TOML, annotations, rows, table_bytes
from thresher import Project

MODULE = """
import os
import signal
from pathlib import Path

PLACE = Path(__file__).parent


class Length:
    # Writes a file, as confined code cannot, and ends the command at the document that the file `deadly` names.

    VERSION = 1
    COLUMNS = {"length": "int64"}

    def __init__(self):
        (PLACE / f"made-{os.getpid()}").touch()

    def __call__(self, documents):
        print("a line of the user's code")
        for document in documents:
            if document.external_id == (PLACE / "deadly").read_text():
                os.kill(os.getppid(), signal.SIGKILL)
        return [len(each.text) for each in documents]


def crash(documents):
    import ctypes

    return [ctypes.string_at(0) if each.external_id == "d8" else each.external_id for each in documents]
"""


def prepare(user, texts, files):
    """Process so many texts, in so many parts."""
    (user.directory / "thresher.toml").write_text(TOML)
    (user.directory / "mine.py").write_text(MODULE)
    (user.directory / "deadly").write_text("")
    project, every = Project(user.directory), list(rows(texts))
    for number in range(files):
        path = user.directory / f"{number:03}.jsonl"
        path.write_text("".join(f"{json.dumps(row)}\n" for row in every[number::files]))
        project.ingest("docs", path)
    user.run("process", "--workers", "2")
    return project


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_killed_five_times_with_two_workers_the_bytes_are_the_same(user):
    project = prepare(user, 600, 12)
    user.run("annotate", "whole", "--with", "mine:Length", "--workers", "2")
    command = ("annotate", "length", "--with", "mine:Length", "--batch", "7")
    sealed = user.directory / "data" / "manifests" / "annotate" / "length" / "docs"
    for late in (16, 18, 21, 22, 24):
        part = next(n for n in range(12) if not [*sealed.glob(f"part-{n:03}*")])
        deadly = next(n for n in range(part + 12 * late, 600, 12) if n % 5)
        (user.directory / "deadly").write_text(f"d{deadly}")
        assert user.start(*command, "--workers", "2").wait(60) == -signal.SIGKILL
    (user.directory / "deadly").write_text("")
    made = user.run(*command, "--workers", "2", "--json").json
    assert (made["documents"], made["annotated"]) == (600, 480)
    assert annotations(project, "length") == annotations(project, "whole")
    killed = table_bytes(project, "length")
    user.run(*command, "--redo", "--workers", "2")
    assert table_bytes(project, "length") == killed


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_cluster_makes_the_bytes_of_one_machine(user, monkeypatch):
    pytest.importorskip("ray")
    from tests.pipeline import raycluster

    project = prepare(user, 60, 3)
    command = ("annotate", "length", "--with", "mine:Length")
    user.run(*command, "--workers", "2")
    local = table_bytes(project, "length")
    with raycluster.cluster(2) as nodes:
        monkeypatch.setenv("RAY_ADDRESS", nodes.address)
        user.run(*command, "--redo", "--ray", "--workers", "2")
    assert table_bytes(project, "length") == local


@pytest.mark.slow
def test_a_crash_names_its_batch_and_costs_its_part(user):
    prepare(user, 40, 2)
    failed = user.run("annotate", "a", "--with", "mine:crash", "--workers", "1", "--batch", "4", code=1)
    assert "part a/docs/part-000" in failed.line
    assert "mine:crash crashes its process at a batch of 4 documents, from " in failed.line
    assert "1 part made" in failed.out
