"""Every option of a command is a parameter of `Project`, with the same name and the same default."""

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pytest
import typer

import thresher
from thresher import Project
from thresher.pipeline.commands.app import app

COMMANDS: Mapping[str, tuple[Callable[..., Any], ...]] = {
    "seed": (Project.seed,),
    "crawl": (Project.crawl,),
    "ingest": (Project.ingest,),
    "process": (Project.process,),
    "judge": (Project.judge,),
    "annotate": (Project.annotate,),
    "dedup": (Project.dedup, Project.audit_dedup),
    "export": (Project.export,),
    "report": (Project.report, Project.report_dropped, Project.report_duplicates),
}
"""The commands that `Project` offers. A command that prints different things has a method for each of them."""

SHELL_ONLY = {
    "project": "a `Project` is of one directory",
    "json": "a method returns values",
}
METHODS_OF_THEIR_OWN = {
    "dedup": {"audit": "audit_dedup, which returns the audit"},
    "report": {"duplicates": "report_duplicates, which returns the duplicates"},
}
RENAMED = {
    "seed": {"file": ("seeds", "they may also be URLs")},
    "crawl": {
        "max_time": ("max_seconds", "a number in Python says its unit"),
        "a": ("arguments", "a mapping"),
    },
    "judge": {
        "name": ("verdicts", "as the other methods name a set of verdicts"),
        "set": ("thresholds, preset, languages", "values of three types in Python"),
    },
    "annotate": {
        "with": ("function", "`with` is a keyword"),
        "a": ("arguments", "a mapping"),
        "all": ("documents", "one of three words in place of two switches"),
        "deduplicated": ("documents", "one of three words in place of two switches"),
    },
    "export": {"format": ("formats", "a sequence")},
}
"""The parameter that an option has in Python, and why its name differs."""
OTHER_DEFAULTS = {
    ("export", "formats"): "the command's help says its default; it must appear before formats are imported",
    ("annotate", "documents"): "of three words, the one of neither switch",
    ("report", "dropped"): "required: without it the command prints another report",
}
NOTHING: tuple[object, ...] = (None, "", (), [], {})


@cache
def commands() -> Mapping[str, Any]:
    """Return the commands as Typer parses them."""
    return typer.main.get_command(app).commands  # type: ignore[attr-defined]


def options_of(command: str) -> dict[str, object]:
    """Return the defaults of a command's options and arguments."""
    return {
        parameter.opts[0].lstrip("-").replace("-", "_"): parameter.default
        for parameter in commands()[command].params
    }


def parameters(command: str) -> dict[str, object]:
    """Return the same by the names that Python should have, without those that it has not."""
    found = {}
    for name, default in options_of(command).items():
        if name not in SHELL_ONLY | METHODS_OF_THEIR_OWN.get(command, {}):
            new, _ = RENAMED.get(command, {}).get(name, (name, ""))
            found |= dict.fromkeys(new.split(", "), default)
    return found


def methods(command: str) -> dict[str, inspect.Parameter]:
    return {
        name: parameter
        for method in COMMANDS[command]
        for name, parameter in inspect.signature(method).parameters.items()
        if name != "self"
    }


def normal(default: object) -> object:
    return None if default in (*NOTHING, inspect.Parameter.empty) else default


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_a_command_is_a_parameter_with_the_same_default(command):
    options, found = parameters(command), methods(command)
    assert sorted(found) == sorted(options)
    for name, default in options.items():
        if (command, name) not in OTHER_DEFAULTS:
            assert normal(found[name].default) == normal(default), name


def test_a_method_with_the_name_of_a_command_is_compared_with_it():
    assert {name for name in dir(thresher.Project) if name in commands()} == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_exception_is_of_an_option_that_the_command_has(command):
    exceptions = {**SHELL_ONLY, **METHODS_OF_THEIR_OWN.get(command, {}), **RENAMED.get(command, {})}
    assert exceptions.keys() - options_of(command).keys() == set()
    assert {name for of, name in OTHER_DEFAULTS if of == command} - parameters(command).keys() == set()
