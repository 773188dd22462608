"""Load the users' own rules, which `filters.rules` in thresher.toml names."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

from core import InputError
from filters.text import AnalyzedText, Finding, Rule

PARTS = ("measures", "name", "recipe")
"""Attributes that a rule must have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRule:
    """A rule of a user, with the digest of the file that holds it: a changed file is another rule."""

    rule: Any
    file: Path | None

    @property
    def name(self) -> str:
        """The rule's own name."""
        return str(self.rule.name)

    @property
    def measures(self) -> tuple[str, ...]:
        """The rule's own measurements."""
        return tuple(self.rule.measures)

    @property
    def recipe(self) -> Mapping[str, Any]:
        """The rule's parameters, and `source`, the digest of its file."""
        return {**self.rule.recipe, "source": _digest(self.file)}

    def __call__(self, text: AnalyzedText) -> Finding:
        """Apply the rule."""
        found: Finding = self.rule(text)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionRule:
    """A function as a rule. Its name is the rule's; its attribute `measures`, if it has one, names its measurements."""

    function: Callable[..., Finding]
    name: str
    measures: tuple[str, ...] = ()
    recipe: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, text: AnalyzedText) -> Finding:
        """Call the function."""
        return self.function(text, **self.recipe)


def own_rule(spec: str, parameters: Mapping[str, Any]) -> Rule:
    """Return the rule `package.module:NAME` with these parameters.

    NAME is a function from a text to a `Finding`, a class that makes a rule of the parameters, or a rule. Raise
    `InputError` if the module cannot be imported, whatever it raises; if NAME is no rule; or if a rule that is made
    already is given parameters.
    """
    where = f"filters.rules: {spec}"
    module_name, _, name = spec.partition(":")
    if not module_name or not name.isidentifier():
        raise InputError(f"{where}: name it package.module:Class")
    try:
        module = import_module(module_name)
        found: Any = getattr(module, name)
        rule = _made(found, name, parameters)
        missing = [part for part in PARTS if not hasattr(rule, part)]
    except Exception as error:
        detail = " ".join(str(error).split())
        raise InputError(
            f"{where}: it cannot be loaded ({type(error).__name__}: {detail}); modules are searched in the project's"
            " directory and on Python's path"
        ) from error
    if missing or not callable(rule) or not isinstance(rule.name, str) or not rule.name.isidentifier():
        problem = (
            f"it has no {', '.join(missing)}"
            if missing
            else "it is not callable, or its `name` is no identifier"
        )
        raise InputError(f"{where}: {problem}; a rule must be as `thresher.Rule` describes it")
    file = getattr(module, "__file__", None)
    return OwnRule(rule=rule, file=None if file is None else Path(file))


def _made(found: Any, name: str, parameters: Mapping[str, Any]) -> Any:
    """Return the rule that a name stands for. Raise `TypeError` if parameters do not fit."""
    if isinstance(found, type):
        return found(**parameters)
    if isinstance(found, FunctionType):
        partial(found, None, **parameters)
        return FunctionRule(
            function=found, name=name, measures=tuple(getattr(found, "measures", ())), recipe=dict(parameters)
        )
    if parameters:
        raise TypeError(f"{name} is made already and takes no parameters")
    return found


def _digest(file: Path | None) -> str:
    try:
        return "" if file is None else hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    except OSError:
        return ""
