"""`thresher help`: topics, commands, and what a terminal shows."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from thresher.core import InputError
from thresher.pipeline.commands.about.guides import read_guide, topics
from thresher.pipeline.commands.app import app


def types(*words):
    return CliRunner().invoke(app, [*words], prog_name="thresher")


def test_without_a_topic_all_are_listed_a_line_each():
    said = types("help")
    assert said.exit_code == 0
    for topic, title in topics().items():
        assert any(line.split(maxsplit=1) == [topic, title] for line in said.output.splitlines()), topic


def test_a_topic_shows_the_guide_as_it_is_where_there_is_no_terminal():
    assert types("help", "first-crawl").output == read_guide("first-crawl")


@pytest.mark.parametrize("command", [("crawl",), ("frontier", "hosts"), ("help",)])
def test_a_command_shows_what_its_help_says(command):
    assert types("help", *command).output == types(*command, "--help").output


def test_a_name_of_both_shows_both():
    said = types("help", "ingest").output
    assert said == f"{types('ingest', '--help').output}\n{read_guide('ingest')}"


@pytest.mark.parametrize(
    ("typed", "nearest"),
    [
        (("crwal",), "crawl"),
        (("instal",), "install"),
        (("frontier", "host"), "frontier hosts"),
        (("?",), ""),
    ],
)
def test_a_wrong_topic_names_the_nearest_in_one_line(typed, nearest):
    error = types("help", *typed).exception
    assert isinstance(error, InputError)
    assert "\n" not in str(error)
    assert f"the nearest is `thresher help {nearest}" in str(error)


PROGRAM = (
    "import sys; from thresher.pipeline.terminal.markdown_output import print_markdown; "
    "print_markdown('# Title\\n\\nSome `code`.\\n')"
)


def on_a_terminal(**environment):
    """What a process writes whose stdout is a terminal."""
    leader, follower = pty.openpty()
    variables = {"PATH": os.environ["PATH"], "TERM": "xterm", "COLUMNS": "60", **environment}
    root = Path(__file__).resolve().parents[4]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], env=variables, cwd=root, stdin=follower, stdout=follower
    )
    os.close(follower)
    written = b""
    try:
        while piece := os.read(leader, 4096):
            written += piece
    except OSError:  # EIO: the other end is closed
        pass
    finally:
        os.close(leader)
    assert process.wait(60) == 0
    return written.decode()


def test_a_terminal_shows_colours_through_the_users_pager(tmp_path):
    pager = tmp_path / "pager"
    pager.write_text('#!/bin/sh\necho "paged with $LESS"\ncat\n')
    pager.chmod(0o755)
    shown = on_a_terminal(PAGER=str(pager))
    assert shown.startswith("paged with FRX")
    assert "Title" in shown
    assert "\x1b[" in shown


@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"PAGER": "no-such-program"}, {"PAGER": ""}])
def test_a_terminal_without_a_pager_shows_all_at_once(variables):
    shown = on_a_terminal(**{"PAGER": "/bin/false", **variables})
    assert "Some code." in shown.replace("\x1b", "\x1b").replace("[1;36;40m", "").replace("[0m", "").replace(
        "\x1b", ""
    )
