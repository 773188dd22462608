"""Rules of users: found by name, asked behind the preset's, and refused in one line if they are none."""

import json
import re
import sys
from pathlib import Path

import pytest

from thresher.core import InputError
from thresher.filters.rules.chosen_rules import RULES
from thresher.filters.rules.fineweb import FineWeb
from thresher.filters.rules.gopher import GopherRepetition
from thresher.filters.rules.own_rules import own_rule
from thresher.filters.rules.presets import measurement_names, preset_recipe, preset_rules
from thresher.filters.text import AnalyzedText

MODULE = """
from thresher import Finding


class Short:
    name = "short"
    measures = ("characters",)

    def __init__(self, most=100):
        self.recipe = {"most": most}

    def __call__(self, text):
        long = len(text.text) > self.recipe["most"]
        return Finding(measurements={"characters": len(text.text)}, reason="too_long" if long else None)


class Gopher(Short):
    name = "gopher_quality"


class Early(Short):
    name = "early"


class Spaced(Short):
    name = "two words"


class Needy(Short):
    def __init__(self, most):
        super().__init__(most)


class Nothing:
    name = "nothing"


shorter = Short(10)
NUMBER = 7


def shouting(text, most=0.3):
    capitals = sum(map(str.isupper, text.text)) / max(len(text.text), 1)
    return Finding(measurements={"capitals": capitals}, reason="too_loud" if capitals > most else None)


shouting.measures = ("capitals",)


def needs(text, limit):
    return Finding(measurements={}, reason=None)


def returns(value):
    def rule(text):
        return value() if callable(value) else value

    rule.measures = ("m",)
    return rule


def leaves():
    raise SystemExit(3)


nothing = returns(None)
number_as_reason = returns(Finding(measurements={}, reason=5))
sentence_as_reason = returns(Finding(measurements={}, reason="too\\nshort"))
endless_reason = returns(Finding(measurements={}, reason="a" * 300))
text_as_measurement = returns(Finding(measurements={"m": "long"}, reason=None))
unknown_measurement = returns(Finding(measurements={"n": 1.0}, reason=None))
exits = returns(leaves)
whole = returns(Finding(measurements={"m": 3}, reason="too-short.1"))


class Letters(Short):
    measures = "abc"


class Umlaut(Short):
    name = "zu_kürz"


class Unstorable(Short):
    def __init__(self):
        self.recipe = {"limit": float("nan")}
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "rules_of_a_user.py").write_text(MODULE)
    (tmp_path / "broken_rules.py").write_text("1 / 0")
    yield "rules_of_a_user"
    for name in ("rules_of_a_user", "broken_rules"):
        sys.modules.pop(name, None)


def test_a_class_and_a_value_are_rules_and_stand_behind_the_presets(module):
    rules = preset_rules("gopher", ["en"], [f"{module}:Short"])
    assert [rule.name for rule in rules] == ["language", "gopher_repetition", "gopher_quality", "short"]
    assert "characters" in measurement_names(rules)
    assert own_rule(f"{module}:shorter", {}).recipe["most"] == 10
    assert own_rule(f"{module}:Short", {"most": 5}).recipe["most"] == 5


def test_the_recipe_has_every_parameter_and_without_own_rules_it_is_as_ever(module):
    recipe = preset_recipe("c4", [], [f"{module}:shorter"])
    source = recipe["rules"][-1].pop("source")
    assert recipe["rules"][-1] == {"rule": "short", "most": 10}
    assert re.fullmatch("[0-9a-f]{16}", source)
    recipe["rules"][-1]["source"] = source
    assert recipe == {**preset_recipe("c4", []), "rules": recipe["rules"]}
    assert recipe["rules"][:-1] == preset_recipe("c4", [])["rules"]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["Short"], "name it package.module:Class"),
        (["gopher_qualty"], "did you mean 'gopher_quality'"),
        (["{}:"], "name it package.module:Class"),
        ([":Short"], "name it package.module:Class"),
        (["no_such_module:Short"], "No module named 'no_such_module'"),
        (["broken_rules:Short"], "ZeroDivisionError"),
        (["{}:Missing"], "AttributeError"),
        (["{}:Needy"], "TypeError"),
        (["{}:NUMBER"], "it has no measures, name, recipe"),
        (["{}:Nothing"], "it has no measures, recipe"),
        (["{}:Spaced"], "no identifier"),
        (["{}:Umlaut"], "no identifier in ASCII"),
        (["{}:Letters"], "its `measures` must be a tuple of identifiers"),
        (["{}:Unstorable"], "its `recipe` must be a mapping that JSON can hold"),
        (["{}:needs"], "missing a required argument: 'limit'"),
        (["{}:Gopher"], "another rule has the name 'gopher_quality'"),
        (["{}:Early"], "another rule has the name 'early'"),
        (["{}:Short", "{}:shorter"], "another rule has the name 'short'"),
    ],
)
def test_what_is_no_rule_is_refused_in_one_line_that_names_it(module, names, said):
    written = [name.format(module) for name in names]
    with pytest.raises(InputError) as error:
        preset_rules("gopher", ["en"], written)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(f"filters.rules: {written[-1]}: ")
    assert said in str(error.value)


def table(rule, **parameters):
    return json.dumps({"rule": rule, **parameters})


def test_a_function_is_a_rule_with_parameters(module):
    rules = preset_rules("none", [], [f"{module}:shouting", "length"])
    assert [rule.name for rule in rules] == ["shouting", "length"]
    assert measurement_names(rules) == ["capitals", "characters", "length_words"]
    loud = AnalyzedText(text="LOUD text", language="", language_score=0.0)
    assert rules[0](loud).reason == "too_loud"
    (patient,) = preset_rules("none", [], [table(f"{module}:shouting", most=0.9)])
    assert patient(loud).reason is None
    assert patient.recipe["most"] == 0.9


def test_a_changed_file_is_another_rule(module, tmp_path):
    before = own_rule(f"{module}:Short", {}).recipe
    (tmp_path / "rules_of_a_user.py").write_text(MODULE + "# a comment")
    assert own_rule(f"{module}:Short", {}).recipe["source"] != before["source"]


def test_a_rule_takes_the_place_of_the_presets_and_has_its_parameters():
    rules = preset_rules(
        "fineweb", [], [table("fineweb", most_repeated_characters=0.1, short_line=20), "length"]
    )
    names = ["gopher_repetition", "gopher_quality", "c4", "fineweb", "length"]
    assert [rule.name for rule in rules] == names
    assert rules[3] == FineWeb(most_repeated_characters=0.1, short_line=20)
    (repetition,) = preset_rules("none", [], [table("gopher_repetition", top=[[2, 0.3]])])
    assert repetition == GopherRepetition(top=((2, 0.3),))


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (
            [table("fineweb", short_lines=3)],
            "fineweb: unknown parameter 'short_lines'; did you mean 'short_line'?",
        ),
        ([table("fineweb", short_line="x")], "fineweb: Expected `int`, got `str` for `short_line`"),
        ([table("nothing_like_it")], "no such rule"),
        (["c4", table("c4", terminal=False)], "c4: it is named twice"),
    ],
)
def test_wrong_parameters_are_refused_in_one_line(entries, said):
    with pytest.raises(InputError, match=r"^filters\.rules: ") as error:
        preset_rules("none", [], entries)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", RULES)
def test_every_rule_can_be_named_without_parameters(name):
    (rule,) = preset_rules("none", [], [name])
    assert rule.name == name
    assert json.dumps(rule.recipe)
    finding = rule(AnalyzedText(text="Some text.", language="en", language_score=1.0))
    assert set(finding.measurements) <= set(rule.measures)


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("nothing", TypeError, "the rule returned NoneType; it must return a thresher.Finding"),
        ("number_as_reason", ValueError, "the reason '5' must be None or a code"),
        ("sentence_as_reason", ValueError, "must be None or a code of at most 64 letters"),
        ("endless_reason", ValueError, "must be None or a code of at most 64 letters"),
        ("text_as_measurement", TypeError, "the measurement 'm' is str; it must be a number"),
        ("unknown_measurement", ValueError, "the measurement 'n' is not in the rule's `measures`"),
        ("exits", RuntimeError, "the rule calls sys.exit(3)"),
    ],
)
def test_a_finding_that_no_table_can_hold_costs_its_document_and_says_why(module, name, error, said):
    rule = own_rule(f"{module}:{name}", {})
    with pytest.raises(error, match=re.escape(said)):
        rule(AnalyzedText(text="Some text.", language="en", language_score=1.0))


def test_a_whole_number_is_a_measurement(module):
    found = own_rule(f"{module}:whole", {})(AnalyzedText(text="Some.", language="en", language_score=1.0))
    assert found.measurements == {"m": 3.0}
    assert found.reason == "too-short.1"
