"""The rules that `filters.rules` in thresher.toml names, in the place of or behind those of the preset.

An entry is the name of a rule of Thresher, `package.module:NAME` of a rule of the user, or a table: `{rule =
"gopher_quality", fewest_words = 30}`. Entries travel as text; a table is its JSON.
"""

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, cast

import msgspec

from thresher.core import InputError
from thresher.filters.rules.addresses import UrlWords
from thresher.filters.rules.boilerplate import Boilerplate
from thresher.filters.rules.c4 import C4
from thresher.filters.rules.code_lines import CodeLines
from thresher.filters.rules.dclm import DclmQuality, DclmRepetition
from thresher.filters.rules.dclm_urls import DclmUrls
from thresher.filters.rules.fineweb import FineWeb
from thresher.filters.rules.gopher import GopherQuality, GopherRepetition
from thresher.filters.rules.lengths import Length
from thresher.filters.rules.own_rules import own_rule
from thresher.filters.rules.refinedweb import RefinedWebLines
from thresher.filters.text import Rule

RULES: Mapping[str, Any] = {
    kind.name: kind
    for kind in (
        GopherRepetition,
        GopherQuality,
        C4,
        FineWeb,
        RefinedWebLines,
        DclmUrls,
        DclmQuality,
        DclmRepetition,
        UrlWords,
        Length,
        CodeLines,
        Boilerplate,
    )
}
"""The rules of Thresher that a configuration can name. All of their fields are parameters."""


def chosen_rules(
    preset: Sequence[Rule], entries: Sequence[str], reserved: Sequence[str] = ()
) -> tuple[Rule, ...]:
    """Return the rules of a preset and of `entries`, in order.

    A rule of Thresher takes the place of the preset's rule with its name; others come behind. Raise `InputError` if an
    entry names no rule, has a parameter that the rule does not have, or has the name of another rule or a `reserved`
    one.
    """
    rules = {rule.name: rule for rule in preset}
    named = set[str]()
    for entry in entries:
        spec, parameters = _read(entry)
        rule = own_rule(spec, parameters) if ":" in spec else built_in(spec, parameters)
        is_taken = rule.name in named or rule.name in reserved or (":" in spec and rule.name in rules)
        if is_taken:
            raise InputError(
                f"filters.rules: {spec}: another rule has the name {rule.name!r}; give this one another `name`"
                if ":" in spec
                else f"filters.rules: {spec}: it is named twice; write one table with all parameters"
            )
        named.add(rule.name)
        rules[rule.name] = rule
    return tuple(rules.values())


def built_in(name: str, parameters: Mapping[str, Any]) -> Rule:
    """Return a rule of Thresher with parameters. Raise `InputError` if one is not known or has a wrong type."""
    kind = RULES[name]
    known = [field.name for field in fields(kind)]
    for key in parameters:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.0)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise InputError(f"filters.rules: {name}: unknown parameter {key!r}{hint}")
    try:
        return cast("Rule", msgspec.convert(dict(parameters), type=kind))
    except msgspec.ValidationError as error:
        raise InputError(f"filters.rules: {name}: {str(error).replace(' - at `$.', ' for `')}") from None


def _read(entry: str) -> tuple[str, dict[str, Any]]:
    if not entry.startswith("{"):
        spec, parameters = entry, {}
    else:
        parameters = json.loads(entry)
        spec = parameters.pop("rule")
    if ":" not in spec and spec not in RULES:
        near = difflib.get_close_matches(spec, RULES, n=1)
        hint = (
            f"did you mean {near[0]!r}?"
            if near
            else f"name it package.module:Class, or one of {', '.join(RULES)}"
        )
        raise InputError(f"filters.rules: {spec}: no such rule; {hint}")
    return spec, parameters
