"""Languages are recognised, and the first rule that objects decides."""

from types import SimpleNamespace

import pytest

from tests.shared import shared_file
from thresher.core import InputError
from thresher.filters.judge import judge
from thresher.filters.models.language import LanguagePrediction, LanguageRule, load_language_model
from thresher.filters.rules.presets import PRESETS, measurement_names, preset_recipe, preset_rules
from thresher.filters.text import AnalyzedText

SENTENCES = {
    "en": "The river was low in summer, and the boats lay on the stones until the rain came back.",
    "de": "Im Sommer war der Fluss niedrig, und die Boote lagen auf den Steinen, bis der Regen kam.",
    "fr": "En été la rivière était basse, et les bateaux restaient sur les pierres jusqu'à la pluie.",
    "es": "En verano el río estaba bajo, y las barcas quedaban sobre las piedras hasta la lluvia.",
}


def document(text):
    return SimpleNamespace(id="0", text=text, url="", license="")


@pytest.mark.parametrize("code", SENTENCES)
def test_languages_are_recognised(code):
    found = load_language_model()(SENTENCES[code])
    assert found.code == code
    assert 0.65 <= found.score <= 1


def test_line_breaks_and_emptiness_do_no_harm():
    recognise = load_language_model()
    assert recognise("\n".join(SENTENCES["en"].split())).code == "en"
    assert recognise("").score >= 0
    assert recognise(SENTENCES["en"] + " \ud800").code == "en"


def test_only_wanted_languages_are_kept_and_only_when_sure():
    rule = LanguageRule(languages=("en", "de"), thresholds=(("en", 0.65), ("de", 0.8)))
    reasons = [
        rule(AnalyzedText(text="", language=code, language_score=score)).reason
        for code, score in (("en", 0.65), ("de", 0.9), ("en", 0.64), ("fr", 0.99))
    ]
    assert reasons == [None, None, "unsure", "other_language"]


def test_no_languages_keep_all():
    assert preset_rules("none", []) == ()


def test_an_unknown_preset_names_the_known_ones():
    with pytest.raises(InputError, match="none, gopher, c4, fineweb"):
        preset_rules("finewob", ["en"])


@pytest.mark.parametrize("preset", PRESETS)
def test_a_recipe_holds_every_rule_with_its_parameters(preset):
    made = preset_recipe(preset, ["en"])
    assert [rule["rule"] for rule in made["rules"]] == [rule.name for rule in preset_rules(preset, ["en"])]
    assert all(len(rule) > 1 for rule in made["rules"])


def test_the_first_rule_that_objects_decides_and_later_ones_are_not_asked():
    chosen = preset_rules("fineweb", ["en"])
    verdict = judge(document("short"), LanguagePrediction(code="fr", score=0.9), chosen)
    assert (verdict.keep, verdict.rule, verdict.reason) == (False, "language", "other_language")
    assert set(verdict.measurements) == {"language_score", "language_share"}
    verdict = judge(document("Far too short."), LanguagePrediction(code="en", score=0.9), chosen)
    assert (verdict.rule, verdict.reason) == ("gopher_repetition", "top_2_gram")
    assert set(verdict.measurements) <= set(measurement_names(chosen))


@pytest.mark.shared
def test_most_sentences_of_the_commonest_languages_are_recognised():
    import zstandard

    with shared_file("langid/lingua-sentences.tsv.zst").open("rb") as file:
        lines = (
            zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file).read().decode().split("\n")
        )
    recognise = load_language_model()
    rows = [line.split("\t", 1) for line in lines if line[:2] in SENTENCES]
    right = sum(recognise(text).code == code for code, text in rows[::10])
    assert right / len(rows[::10]) > 0.95
