"""A missing extra is named with the command that installs it, for the way in which Thresher was installed."""

import importlib.metadata
import json
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

from thresher.core import InputError
from thresher.core.installation import extras
from thresher.core.installation.extras import install_command
from thresher.crawler.render.chromium.program import find_browser
from thresher.extract.engines.page_engine import engine_version
from thresher.filters.training.classifier_training import TrainingOptions, train_classifier
from thresher.pipeline.duplicates.stored_minhashes import require_datasketch
from thresher.pipeline.engine.ray.ray_cluster import ray_connection
from thresher.pipeline.reports.report import require_plots
from thresher.pipeline.telemetry.open_telemetry import OpenTelemetryTracer
from thresher.storage.catalog import Catalog

ROOT = Path(__file__).resolve().parents[3]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
DEVELOPERS = {"test", "check", "build"}
PYTHON = shlex.quote(sys.executable)
WHEEL = "file:///w/thresher-0.1.0-py3-none-any.whl"


def connect_to_ray():
    with ray_connection(""):
        pass


NEEDED_BY = {
    "datasketch": ("datasketch", require_datasketch),
    "extract-trafilatura": ("trafilatura", lambda: engine_version("trafilatura")),
    "plot": ("matplotlib", require_plots),
    "postgres": ("psycopg", lambda: Catalog("postgresql://me@db/x", Path())),
    "ray": ("ray", connect_to_ray),
    "render": ("playwright", lambda: find_browser("")),
    "signals": ("floret", lambda: train_classifier([], TrainingOptions())),
    "telemetry": ("opentelemetry", OpenTelemetryTracer),
}
"""The package that is looked for, and what needs it, by extra."""


def test_every_extra_of_users_is_tried():
    assert set(NEEDED_BY) == EXTRAS.keys() - DEVELOPERS


@pytest.mark.parametrize("extra", NEEDED_BY)
def test_what_needs_a_missing_extra_ends_with_the_command_that_installs_it(extra, monkeypatch):
    package, use = NEEDED_BY[extra]
    for name in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    found = importlib.metadata.version
    monkeypatch.setattr(
        importlib.metadata, "version", lambda name: found("absent" if name == package else name)
    )
    with pytest.raises(InputError) as caught:
        use()
    assert f"; install the extra '{extra}': {install_command(extra)}" in f"{caught.value}"
    assert "\n" not in str(caught.value)


class Installed:
    """The metadata of an installation."""

    version = "0.1.0"

    def __init__(self, origin):
        self.origin = origin

    def read_text(self, name):
        return json.dumps(self.origin) if self.origin and name == "direct_url.json" else None


@pytest.mark.parametrize(
    ("origin", "target"),
    [
        pytest.param(
            {"url": "file:///a%20b/thresher", "dir_info": {"editable": True}},
            "-e '/a b/thresher[ray]'",
            id="checkout",
        ),
        pytest.param(
            {"url": "file:///c", "dir_info": {}}, "'thresher[ray] @ file:///c'", id="folder, copied"
        ),
        pytest.param({"url": WHEEL, "archive_info": {}}, f"'thresher[ray] @ {WHEEL}'", id="wheel"),
        pytest.param(None, "'thresher[ray]==0.1.0'", id="index"),
    ],
)
def test_the_command_installs_what_was_installed_with_the_extra(origin, target, monkeypatch, tmp_path):
    monkeypatch.setattr(importlib.metadata, "distribution", lambda _: Installed(origin))
    assert install_command("ray") == f"{PYTHON} -m pip install {target}"
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    (tmp_path / "pipx_metadata.json").touch()
    assert install_command("ray") == f"pipx install --force {target}"
    (tmp_path / "uv-receipt.toml").touch()
    assert install_command("ray") == f"uv tool install {target}"


def test_an_environment_without_pip_is_one_of_uv(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    assert install_command("ray").startswith(f"uv pip install --python {PYTHON} ")


def test_a_checkout_that_is_not_installed_is_installed(monkeypatch):
    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", absent)
    assert install_command("ray") == f"{PYTHON} -m pip install -e {shlex.quote(f'{ROOT}[ray]')}"
