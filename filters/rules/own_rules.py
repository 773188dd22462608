"""Load the users' own rules, which `filters.rules` in thresher.toml names."""

import hashlib
import inspect
import json
import numbers
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

from thresher.core import InputError
from thresher.filters.text import AnalyzedText, Finding, Rule

PARTS = ("measures", "name", "recipe")
"""Attributes that a rule must have."""
REASON = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
"""Reasons, as reports and `--dropped RULE/REASON` write them."""
MAX_NAME = 64
"""Characters of the name of a rule or of a measurement."""


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
    def columns(self) -> tuple[str, ...]:
        """The columns of inputs that the rule wants."""
        return tuple(getattr(self.rule, "columns", ()))

    @property
    def recipe(self) -> Mapping[str, Any]:
        """The rule's parameters, and `source`, the digest of its file."""
        return {**self.rule.recipe, "source": _digest(self.file)}

    def __call__(self, text: AnalyzedText) -> Finding:
        """Apply the rule. Raise `TypeError` or `ValueError` if what it returns cannot be stored, and `RuntimeError` if
        it ends the process.
        """
        try:
            found = self.rule(text)
        except SystemExit as error:
            raise RuntimeError(f"the rule calls sys.exit({error.code!r})") from error
        return _checked(found, self.measures)


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


def _checked(found: Any, measures: tuple[str, ...]) -> Finding:
    """Return a finding with numbers as floats. Raise `TypeError` or `ValueError` if a table cannot hold it."""
    if not isinstance(found, Finding):
        raise TypeError(f"the rule returned {type(found).__name__}; it must return a thresher.Finding")
    if found.reason is not None and not (isinstance(found.reason, str) and REASON.fullmatch(found.reason)):
        raise ValueError(
            f"the reason {str(found.reason)[:80]!r} must be None or a code of at most 64 letters,"
            " digits, '_', '.' and '-', such as too_short"
        )
    values: Mapping[str, Any] = found.measurements
    for name, value in values.items():
        if name not in measures:
            raise ValueError(f"the measurement {name!r} is not in the rule's `measures`")
        if not isinstance(value, numbers.Real):
            raise TypeError(f"the measurement {name!r} is {type(value).__name__}; it must be a number")
    measured = {name: float(value) for name, value in values.items()}
    return replace(found, measurements=measured, edits=tuple(found.edits))


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
    if problem := f"it has no {', '.join(missing)}" if missing else _problem(rule):
        raise InputError(f"{where}: {problem}; a rule must be as `thresher.Rule` describes it")
    file = getattr(module, "__file__", None)
    return OwnRule(rule=rule, file=None if file is None else Path(file))


def _problem(rule: Any) -> str:
    """Return what is wrong with the attributes of a rule; empty if nothing is."""
    if not callable(rule) or not _is_name(rule.name):
        return f"it is not callable, or its `name` is no identifier in ASCII of at most {MAX_NAME} characters"
    if isinstance(rule.measures, str) or not all(map(_is_name, rule.measures)):
        return "its `measures` must be a tuple of identifiers, such as ('length',)"
    try:
        json.dumps(dict(rule.recipe), allow_nan=False)
    except (TypeError, ValueError):
        return "its `recipe` must be a mapping that JSON can hold"
    return ""


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value.isidentifier() and value.isascii() and len(value) <= MAX_NAME


def _made(found: Any, name: str, parameters: Mapping[str, Any]) -> Any:
    """Return the rule that a name stands for. Raise `TypeError` if parameters do not fit."""
    if isinstance(found, type):
        return found(**parameters)
    if isinstance(found, FunctionType):
        inspect.signature(found).bind(None, **parameters)
        return FunctionRule(
            function=found, name=name, measures=getattr(found, "measures", ()), recipe=dict(parameters)
        )
    if parameters:
        raise TypeError(f"{name} is made already and takes no parameters")
    return found


def _digest(file: Path | None) -> str:
    try:
        return "" if file is None else hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    except OSError:
        return ""
