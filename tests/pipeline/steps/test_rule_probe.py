"""A user's rule that needs what the walls keep out is refused before anything is processed, with the way to do it."""

import pytest

from thresher import InputError, Project
from thresher.isolation import probe_confinement
from thresher.pipeline.steps.records.rule_probe import require_confinable

RULES = """
import ctypes
import threading
from pathlib import Path

from thresher import Finding

WEIGHTS = Path(__file__).parent / "thresher.toml"


class Rule:
    name = "own"
    measures = ()
    recipe = {}

    def __call__(self, text):
        return Finding(measurements={}, reason=None)


class Loads(Rule):
    def __init__(self):
        self.weights = WEIGHTS.read_bytes()


class Reads(Rule):
    def __call__(self, text):
        WEIGHTS.read_bytes()


class Starts(Rule):
    def __call__(self, text):
        threading.Thread(target=print).start()


class Dies(Rule):
    def __call__(self, text):
        ctypes.string_at(0)


class Stumbles(Rule):
    def __call__(self, text):
        raise ValueError("it knows no such text")
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """A project whose module of rules is found by workers."""
    if lacks := probe_confinement().lacks:
        pytest.skip(f"walls are missing here: {lacks}")
    directory = tmp_path_factory.mktemp("probed")
    Project.create(directory)
    (directory / "probed_rules.py").write_text(RULES)
    return directory


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("Loads", "it cannot be made there: .*PermissionError"),
        ("Reads", "it fails there: PermissionError: .*thresher.toml"),
        ("Starts", "it fails there: RuntimeError: can't start new thread"),
        ("Dies", r"it ends its process \(exit code -11\)"),
    ],
)
def test_a_rule_that_the_walls_stop_is_refused(directory, monkeypatch, rule, reason):
    monkeypatch.syspath_prepend(directory)
    with pytest.raises(
        InputError, match=f"filters.rules: probed_rules:{rule}: {reason}.*`thresher annotate`"
    ) as raised:
        require_confinable(["gopher_quality", f'{{"rule": "probed_rules:{rule}"}}'])
    assert "\n" not in str(raised.value)


def test_a_rule_that_runs_within_the_walls_or_stumbles_over_a_text_is_none_of_them(directory, monkeypatch):
    monkeypatch.syspath_prepend(directory)
    require_confinable(["probed_rules:Rule", "probed_rules:Stumbles"])


def test_it_is_refused_before_earlier_results_are_deleted(directory, monkeypatch):
    monkeypatch.setattr("sys.path", ["", *__import__("sys").path])
    toml = directory / "thresher.toml"
    toml.write_text(toml.read_text().replace('# preset = "fineweb"', 'rules = ["probed_rules:Reads"]'))
    texts = directory / "one.txt"
    texts.write_text("A text of some words.")
    project = Project(directory)
    project.ingest("texts", texts)
    with pytest.raises(InputError, match="probed_rules:Reads: it fails there"):
        project.process(workers=1, redo=True)
    assert not (directory / "data" / "quarantine").exists()
