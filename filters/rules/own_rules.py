"""Load the users' own rules, which `filters.rules` in thresher.toml names."""

from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from core import InputError
from filters.text import Rule

PARTS = ("measures", "name", "recipe")
"""Attributes that a rule must have."""


def own_rules(names: Sequence[str], taken: Sequence[str] = ()) -> tuple[Rule, ...]:
    """Return the rules of `names`, each `package.module:NAME`, in order.

    NAME is a rule, or a class that makes a rule without arguments. Raise `InputError` if a module cannot be imported,
    whatever it raises; if NAME is not a rule; or if the name of a rule occurs twice or in `taken`.
    """
    rules = tuple(map(_rule, names))
    counts = Counter([*taken, *(rule.name for rule in rules)])
    for spec, rule in zip(names, rules, strict=True):
        if counts[rule.name] > 1:
            raise InputError(
                f"filters.rules: {spec}: another rule has the name {rule.name!r}; give this one another `name`"
            )
    return rules


def _rule(spec: str) -> Rule:
    where = f"filters.rules: {spec}"
    module, _, name = spec.partition(":")
    if not module or not name.isidentifier():
        raise InputError(f"{where}: name it package.module:Class")
    try:
        found: Any = getattr(import_module(module), name)
        rule = found() if isinstance(found, type) else found
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
    return rule  # type: ignore[no-any-return]  # its attributes were checked above
