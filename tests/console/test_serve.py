"""`thresher serve` as a user types it."""

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.pipeline.crawl_projects import project_at

ROOT = Path(__file__).resolve().parents[2]


def start(directory, *words, **more):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **more}
    command = [sys.executable, "-m", "thresher", "serve", "--port", "0", *words]
    return subprocess.Popen(command, cwd=directory, env=environment, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def directory(redis, tmp_path):
    project_at(tmp_path / "project", redis)
    return tmp_path / "project"


@pytest.mark.parametrize("signum", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_it_answers_until_it_is_told_to_end_and_then_ends_in_peace(directory, signum):
    with start(directory) as process:
        assert process.stderr
        line = process.stderr.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/", line)
        assert address, line
        with urllib.request.urlopen(f"{address[0]}healthz", timeout=60) as answer:
            assert b'"status":"ok"' in answer.read()
        process.send_signal(signum)
        assert process.wait(60) == 0
        assert process.stderr.read() == ""


def test_strangers_are_refused_with_one_line_and_exit_code_2(directory):
    with start(directory, "--host", "0.0.0.0") as process:
        assert process.stderr
        said = process.stderr.read()
        assert process.wait(60) == 2
    assert said.count("\n") == 1
    assert said.startswith("thresher: --host 0.0.0.0: others can reach it; set THRESHER_CONSOLE_TOKEN")


def test_help_and_other_commands_do_not_import_the_console():
    code = "import sys; from thresher.pipeline.commands.app import app; print([n for n in sys.modules if n.startswith(('fastapi', 'uvicorn', 'starlette', 'jinja2', 'thresher.pipeline.console'))])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
