"""A verdict follows from measurements and thresholds alone, and it is the one that the rules make of the text."""

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import few_examples
from thresher.core import InputError
from thresher.filters.decision import MeasuredRows, decide
from thresher.filters.measuring import RESERVED_COLUMNS, Measurer, measured_columns, require_own_columns
from thresher.filters.models.language import LanguagePrediction, language_rule
from thresher.filters.rules.chosen_rules import RULES
from thresher.filters.rules.presets import PRESETS, preset_rules
from thresher.filters.text import AnalyzedText, Finding
from thresher.filters.thresholds import measuring_recipe, relaxed, restored, thresholds_of, with_thresholds
from thresher.pipeline.steps.records.rule_set import RuleSet, rules_of
from thresher.storage.manifest import to_plain_json
from thresher.storage.tables import MEASUREMENTS

LANGUAGES = ("en", "de", "th", "ja", "")
WHOLE = {
    *(f"gopher_quality.{each}" for each in ("fewest_words", "most_words", "fewest_stop_words")),
    "c4.fewest_sentences",
}
LINES = st.sampled_from(
    [
        "The quick brown fox jumps over the lazy dog and that is all we have to say with it.",
        "Another sentence follows the first, of a length that is common in the prose of the web!",
        "menu", "read more ...", "• a point", "- b", "# # #", "lorem ipsum dolor sit amet of old", "{ x }",
        "我们 今天 去 学校 。", "今日は学校に行きました。", "12 34 56 78 90", "", "…", "Is it? It is. So be it.",
        "enable javascript to see it all", "a privacy policy applies here", "word word word word word word",
    ]
)  # fmt: skip
TEXTS = st.builds(
    lambda lines, times: "\n".join(lines * times), st.lists(LINES, max_size=12), st.integers(1, 6)
)


def rows_of(texts, rules):
    measurer = Measurer(rules)
    measured = [measurer.measure(text) for text in texts]
    return MeasuredRows(
        languages=np.array([text.language for text in texts], dtype=object),
        measurements={
            name: np.array([each.measurements.get(name, math.nan) for each in measured], dtype=np.float64)
            for name in measured_columns(rules)
        },
        reasons={
            rule.name: np.array([each.reasons.get(rule.name, "") for each in measured], dtype=object)
            for rule in rules
        },
    )


def first_reason(text, rules):
    """The decision that the rules make one after another, each of the edited text."""
    for rule in rules:
        finding = rule(text)
        if finding.reason is not None:
            return rule.name, finding.reason
        if finding.edits:
            text = text.edited(finding.edits)
    return "", ""


OTHERS = ('{"rule": "length", "most_words": 60}', "code_lines", "boilerplate")


@pytest.mark.parametrize(("preset", "own"), [*((name, ()) for name in sorted(PRESETS)), ("none", OTHERS)])
@settings(max_examples=few_examples(40, of=500))
@given(
    text=TEXTS, language=st.sampled_from(LANGUAGES), score=st.floats(0, 1), wanted=st.sampled_from(["", "en"])
)
def test_a_decision_from_measurements_is_that_of_the_rules(preset, own, text, language, score, wanted):
    rules = preset_rules(preset, [wanted] if wanted else [], own)
    analyzed = AnalyzedText(text=text, language=language, language_score=score)
    decided = decide(rules, rows_of([analyzed], rules))
    assert (decided.rules[0], decided.reasons[0]) == first_reason(analyzed, rules)


@settings(max_examples=few_examples(40, of=500))
@given(
    text=TEXTS,
    language=st.sampled_from(LANGUAGES),
    chosen=st.data(),
)
def test_a_changed_threshold_decides_as_a_rule_that_was_made_with_it(text, language, chosen):
    rules = preset_rules(chosen.draw(st.sampled_from(["fineweb", "fineweb2"])), ["en", "de"])
    names = [
        f"{rule.name}.{each.parameter}" for rule in rules for each in thresholds_of(rule) if each.parameter
    ]
    some = chosen.draw(st.lists(st.sampled_from(names), unique=True, max_size=6))
    whole = {
        name for name in some if re.sub(r"\.[a-z]{2,3}\.", ".", name) in WHOLE
    }  # of a language as of all
    values = {name: chosen.draw(st.integers(0, 4)) / (1 if name in whole else 4) for name in some}
    changed = with_thresholds(rules, values)
    analyzed = AnalyzedText(text=text, language=language, language_score=0.9)
    measured = rows_of([analyzed], rules)  # with the thresholds from before
    decided = decide(changed, measured)
    assert (decided.rules[0], decided.reasons[0]) == first_reason(analyzed, changed)


def test_a_rule_with_limits_by_language_has_thresholds_for_all_of_them_and_for_each():
    quality = [rule for rule in preset_rules("fineweb2", []) if rule.name == "gopher_quality"]
    german = AnalyzedText(text="der die und das " * 15, language="de", language_score=1.0)
    texts = [german, replace(german, language="en"), replace(german, language="xx")]
    rows = rows_of(texts, quality)

    def reasons(**values):
        changed = with_thresholds(
            quality, {f"gopher_quality.{name}": value for name, value in values.items()}
        )
        assert [first_reason(text, changed)[1] for text in texts] == list(decide(changed, rows).reasons)
        return list(decide(changed, rows).reasons)

    assert reasons() == ["", "", ""]
    assert reasons(fewest_words=61) == ["too_few_words"] * 3
    assert reasons(**{"de.fewest_words": 61}) == ["too_few_words", "", ""]
    assert reasons(**{"de.fewest_words": 60, "fewest_words": 61}) == ["", "too_few_words", "too_few_words"]
    with pytest.raises(InputError, match=r"gopher_quality\.de\.fewest_words"):
        reasons(**{"de.fewest_wrds": 61})
    assert thresholds_of(restored(quality[0], to_plain_json(quality[0].recipe))) == thresholds_of(quality[0])


def test_a_maximum_that_is_off_can_be_set():
    text = AnalyzedText(text="one two three four", language="en", language_score=1.0)
    rules = preset_rules("none", [], ['{"rule": "length", "fewest_characters": 0}'])
    measured = rows_of([text], rules)
    assert decide(rules, measured).rules[0] == ""
    assert decide(with_thresholds(rules, {"length.most_words": 3}), measured).reasons[0] == "too_many_words"


def test_every_published_rule_has_thresholds_and_every_parameter_has_one_kind():
    assert {name for name, kind in RULES.items() if not thresholds_of(kind())} == {"url_words", "dclm_urls"}
    for preset in PRESETS:
        for rule in preset_rules(preset, ["en"]):
            thresholds = thresholds_of(rule)
            assert bool(thresholds) != (rule.name == "dclm_urls"), rule.name
            assert {each.measurement for each in thresholds} <= set(rule.measures)
            assert not {each.parameter.partition(".")[0] for each in thresholds} & set(measuring_recipe(rule))


@given(text=TEXTS, language=st.sampled_from(LANGUAGES))
def test_a_relaxed_rule_measures_everything_that_it_names(text, language):
    analyzed = AnalyzedText(text=text, language=language, language_score=0.5)
    for rule in preset_rules("fineweb", ["en"]):
        finding = relaxed(rule)(analyzed)
        fixed = finding.reason is not None and finding.reason not in {t.reason for t in thresholds_of(rule)}
        assert fixed or set(finding.measurements) == set(rule.measures)


def test_the_first_rule_decides_and_a_missing_measurement_crosses_nothing():
    rules = preset_rules("gopher", [])
    rows = MeasuredRows(
        languages=np.array(["en"] * 3, dtype=object),
        measurements={
            "words": np.array([math.nan, 10, 10]),
            "repeated_lines": np.array([math.nan, 0.9, 0.1]),
            "gopher_quality_spaced": np.ones(3),
        },
        reasons={},
    )
    decided = decide(rules, rows)
    assert decided.rules.tolist() == ["", "gopher_repetition", "gopher_quality"]
    assert decided.reasons.tolist() == ["", "repeated_lines", "too_few_words"]
    assert decided.keep.tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("gopher_quality.fewest_word", 3, "did you mean 'gopher_quality.fewest_words'"),
        ("gopher_quality.fewest_words", 3.5, "whole number, not 3.5"),
        ("nothing", 1, "no rule of this project has the threshold 'nothing'"),
        ("gopher_repetition.top", 1, "did you mean 'gopher_repetition.top."),
    ],
)
def test_a_wrong_threshold_is_named(key, value, message):
    with pytest.raises(InputError, match=message):
        with_thresholds(preset_rules("gopher", []), {key: value})


def test_thresholds_of_n_grams_are_named_by_n():
    repetition: Any
    (repetition,) = with_thresholds(PRESETS["gopher"][:1], {"gopher_repetition.repeated.7": 0.5})
    assert dict(repetition.repeated)[7] == 0.5
    assert dict(repetition.repeated)[6] == 0.14
    language: Any
    (language,) = with_thresholds([language_rule(("en", "de"))], {"language.thresholds.de": 0.2})
    assert dict(language.thresholds) == {**dict(language_rule(("en",)).thresholds), "de": 0.2}


class Own:
    name, measures, recipe = "own", ("words",), {}

    def __call__(self, text):
        return Finding(measurements={"words": 1.0}, reason="never" if "never" in text.text else None)


def test_the_reason_of_a_rule_without_thresholds_is_stored_and_applies():
    own = replace_name(Own(), ("own_words",))
    texts = [AnalyzedText(text=text, language="en", language_score=1) for text in ("always", "never")]
    assert decide([own], rows_of(texts, [own])).reasons.tolist() == ["", "never"]
    with pytest.raises(InputError, match="own and gopher_quality both have the column 'words'"):
        require_own_columns([*PRESETS["gopher"], Own()])
    with pytest.raises(InputError, match="own and the table of measurements both have the column 'id'"):
        require_own_columns([replace_name(Own(), ("id",))])
    assert set(RESERVED_COLUMNS) == set(MEASUREMENTS.names)


def test_the_rules_of_a_configuration_share_no_column():
    table = '{"rule": "tests.filters.test_thresholds:Own"}'
    with pytest.raises(InputError, match="give one of the measurements another name"):
        rules_of(RuleSet(preset="gopher", languages=("en",), own=(table,)))
    every = tuple(RULES)
    assert rules_of(RuleSet(preset="none", languages=(), own=every)) is not None


def replace_name(rule, measures):
    rule.measures = measures
    return rule


def test_a_prediction_decides_by_language_and_score():
    rule = language_rule(("en",), model="lid.176")
    texts = [
        AnalyzedText(text="x", language=each.code, language_score=each.score, language_share=each.share)
        for each in (
            LanguagePrediction(code="en", score=0.7),
            LanguagePrediction(code="en", score=0.6),
            LanguagePrediction(code="de", score=1.0),
            LanguagePrediction(code="en", score=1.0, share=0.6),
        )
    ]
    rows = rows_of(texts, [rule])
    assert decide([rule], rows).reasons.tolist() == ["", "unsure", "other_language", "mixed"]
    wider = replace(language_rule(("de", "en"), (("de", 0.5), ("en", 0.5))), min_share=0.5)
    assert decide([wider], rows).reasons.tolist() == ["", "", "", ""]
