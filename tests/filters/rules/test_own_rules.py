"""Rules of users: found by name, asked behind the preset's, and refused in one line if they are none."""

import sys
from pathlib import Path

import pytest

from core import InputError
from filters.rules.own_rules import own_rules
from filters.rules.presets import measurement_names, preset_recipe, preset_rules

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
    (shorter,) = own_rules([f"{module}:shorter"])
    assert shorter.recipe == {"most": 10}


def test_the_recipe_has_every_parameter_and_without_own_rules_it_is_as_ever(module):
    recipe = preset_recipe("c4", [], [f"{module}:shorter"])
    assert recipe["rules"][-1] == {"rule": "short", "most": 10}
    assert recipe == {**preset_recipe("c4", []), "rules": recipe["rules"]}
    assert recipe["rules"][:-1] == preset_recipe("c4", [])["rules"]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["Short"], "name it package.module:Class"),
        (["{}:"], "name it package.module:Class"),
        ([":Short"], "name it package.module:Class"),
        (["no_such_module:Short"], "No module named 'no_such_module'"),
        (["broken_rules:Short"], "ZeroDivisionError"),
        (["{}:Missing"], "AttributeError"),
        (["{}:Needy"], "TypeError"),
        (["{}:NUMBER"], "it has no measures, name, recipe"),
        (["{}:Nothing"], "it has no measures, recipe"),
        (["{}:Spaced"], "no identifier"),
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
    assert str(error.value).startswith(f"filters.rules: {written[0]}: ")
    assert said in str(error.value)
