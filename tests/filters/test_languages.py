"""Languages: confusable ones are decided together, long texts are read in windows, mixed texts are reported."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.shared import shared_file
from thresher.core import InputError
from thresher.filters.models import language_ensemble
from thresher.filters.models.language import (
    MIN_SHARE,
    LanguageRule,
    language_rule,
    load_language_model,
    model_recipe,
)
from thresher.filters.models.language_codes import GROUPS, canonical, group_of
from thresher.filters.models.language_ensemble import MAX_WINDOWS, WINDOW
from thresher.filters.models.language_thresholds import THRESHOLDS
from thresher.filters.models.language_votes import PACKAGES, cld2_vote, known_languages, langid, lid176
from thresher.filters.rules.presets import LanguageOptions, preset_recipe
from thresher.filters.text import AnalyzedText

TEXTS = {
    "en": "The river was low in summer, and the boats lay on the stones until the rain came back. Whoever wanted to "
    "cross to the other bank had to wait for a week or walk over the hills. The council said that the bridge would be "
    "ready in November, but nobody believed it. Children swam below the mill, and the old miller sat in front of his "
    "house and smoked a pipe. In the evening music came from the inn, and the air smelled of hay and fresh bread.",
    "de": "Im Sommer war der Fluss niedrig, und die Boote lagen auf den Steinen, bis der Regen zurückkam. Wer auf das "
    "andere Ufer wollte, musste eine Woche warten oder zu Fuß über die Hügel gehen. Die Gemeinde sagte, dass die "
    "Brücke im November fertig sein werde, doch niemand glaubte es. Kinder badeten unter der Mühle, und der alte "
    "Müller saß vor seinem Haus und rauchte eine Pfeife. Am Abend kam Musik aus dem Gasthaus, und es roch nach Heu.",
    "hr": "Rijeka je ljeti bila plitka, a čamci su ležali na kamenju dok se kiša nije vratila. Tko je htio prijeći na "
    "drugu obalu, morao je čekati tjedan dana ili krenuti pješice preko brda. U općini su govorili da će most biti "
    "gotov u studenom, no nitko im nije vjerovao. Djeca su se kupala ispod mlina, a stari mlinar je sjedio pred kućom "
    "i pušio lulu. Navečer bi se čula glazba iz gostionice, a zrak je mirisao na sijeno i svježi kruh.",
    "sr": "Reka je leti bila plitka, a čamci su ležali na kamenju dok se kiša nije vratila. Ko je hteo da pređe na "
    "drugu obalu, morao je da čeka nedelju dana ili da krene peške preko brda. U opštini su govorili da će most biti "
    "gotov u novembru, ali niko im nije verovao. Deca su se kupala ispod mlina, a stari mlinar je sedeo pred kućom i "
    "pušio lulu. Uveče bi se čula muzika iz kafane, a vazduh je mirisao na seno i svež hleb.",
    "no": "Elven var lav om sommeren, og båtene lå på steinene til regnet kom tilbake. Den som ville over til den "
    "andre bredden, måtte vente en uke eller gå til fots over åsene. Kommunen sa at broen skulle bli ferdig i "
    "november, men ingen trodde på det. Barna badet nedenfor møllen, og den gamle mølleren satt foran huset sitt og "
    "røykte pipe. Om kvelden hørte man musikk fra vertshuset, og luften luktet av høy og nybakt brød.",
    "da": "Floden var lav om sommeren, og bådene lå på stenene, indtil regnen kom tilbage. Den, der ville over på den "
    "anden bred, måtte vente en uge eller gå til fods over bakkerne. Kommunen sagde, at broen ville blive færdig i "
    "november, men ingen troede på det. Børnene badede neden for møllen, og den gamle møller sad foran sit hus og røg "
    "pibe. Om aftenen kunne man høre musik fra kroen, og luften duftede af hø og nybagt brød.",
}
recognise = load_language_model()


def keeps(rule: LanguageRule, text: str) -> str | None:
    found = recognise(text)
    analyzed = AnalyzedText(
        text="", language=found.code, language_score=found.score, language_share=found.share
    )
    return rule(analyzed).reason


@pytest.mark.parametrize("code", TEXTS)
def test_a_dataset_of_one_language_keeps_its_texts_and_no_text_of_a_confusable_language(code):
    rule = language_rule((code,))
    assert {other: keeps(rule, text) for other, text in TEXTS.items()} == {
        other: None if other == code else "other_language" for other in TEXTS
    }


def test_lid_176_alone_gives_the_score_of_fasttext():
    labels, scores = lid176().predict(TEXTS["de"], k=1)
    found = load_language_model("lid.176")(TEXTS["de"])
    assert f"__label__{found.code}" == labels[0]
    assert found.score == pytest.approx(scores[0])
    assert found.share == 1.0


def test_the_score_of_a_confusable_language_is_that_of_its_group():
    assert recognise(TEXTS["hr"]).score > 0.9
    assert recognise("Nitko im nije vjerovao.").score > THRESHOLDS["hr"]


@pytest.mark.parametrize("length", [1, 3, 40])
@pytest.mark.parametrize(("first", "second"), [("en", "de"), ("de", "en"), ("hr", "en")])
def test_a_text_in_two_languages_in_equal_parts_is_mixed_wherever_the_second_stands(first, second, length):
    text = "\n".join([TEXTS[first]] * 4 * length + [TEXTS[second]] * 4 * length)
    assert recognise(text).share < MIN_SHARE
    assert keeps(language_rule((first, second)), text) == "mixed"


@pytest.mark.parametrize("place", [0, 9, 18])
def test_a_passage_in_another_language_neither_changes_the_language_nor_makes_the_text_mixed(place):
    parts = [TEXTS["de"]] * 18
    parts.insert(place, TEXTS["en"])
    found = recognise("\n".join(parts))
    assert found.code == "de"
    assert 0.8 < found.share <= 1.0
    assert keeps(language_rule(("de",)), "\n".join(parts)) is None


@pytest.mark.parametrize("code", TEXTS)
def test_a_text_in_one_language_is_not_mixed(code):
    assert recognise("\n".join([TEXTS[code]] * 20)).share == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize(
    "text", ["", " \n\t", "\0" * 500, "12 345; 67.8 % " * 99, "😀🎉" * 400, "\ud800\udfff" * 9]
)
def test_a_text_without_letters_has_no_language(text):
    found = recognise(text)
    assert (found.code, found.score, found.share) == ("", 0.0, 1.0)


@given(st.text(alphabet=st.characters(codec=None), max_size=900))
def test_any_text_has_an_answer_and_always_the_same(text):
    found = recognise(text)
    assert found == recognise(text)
    assert found.code in {"", *THRESHOLDS}
    assert 0 <= found.score <= 1
    assert 0 <= found.share <= 1


@pytest.mark.parametrize("separator", ["\n", " "])
def test_a_text_of_100_mb_costs_no_more_than_a_short_one(monkeypatch, separator):
    read = Counter()

    def counting(text):
        read["characters"] += len(text)
        read["windows"] += 1
        return cld2_vote(text)

    monkeypatch.setattr(language_ensemble, "cld2_vote", counting)
    half = 50_000_000
    text = (TEXTS["en"] + separator) * (half // len(TEXTS["en"])) + (TEXTS["de"] + separator) * (
        half // len(TEXTS["de"])
    )
    assert recognise(text).share < MIN_SHARE
    assert read["windows"] <= MAX_WINDOWS + language_ensemble.WINDOWS
    assert read["characters"] <= (MAX_WINDOWS + language_ensemble.WINDOWS) * WINDOW


def test_every_language_that_a_model_recognises_has_a_threshold_and_at_most_one_group():
    assert set(THRESHOLDS) == frozenset().union(*known_languages())
    assert all(0 < threshold < 1 for threshold in THRESHOLDS.values())
    members = [code for group in GROUPS for code in group]
    assert len(members) == len(set(members))
    assert set(members) <= set(THRESHOLDS)
    assert all(code in group_of(code) for code in THRESHOLDS)


def test_thresholds_are_those_of_fineweb_2_unless_the_project_sets_them():
    rule = language_rule(("hr", "en", "de"), (("de", 0.4),))
    assert dict(rule.thresholds) == {"hr": 0.467, "en": 0.65, "de": 0.4}
    reasons = [
        rule(AnalyzedText(text="", language=code, language_score=score)).reason
        for code, score in (("hr", 0.5), ("en", 0.64), ("de", 0.41), ("de", 0.39))
    ]
    assert reasons == [None, "unsure", None, "unsure"]


def test_lid_176_has_the_threshold_of_fineweb_for_every_language():
    assert dict(language_rule(("hr", "da"), (), "lid.176").thresholds) == {"hr": 0.65, "da": 0.65}


def test_other_names_of_a_language_are_understood():
    assert language_rule(("nb", "iw", "no")).languages == ("no", "he")
    assert canonical("zh-Hant") == "zh"
    assert canonical("xx-Vaii") == ""


@pytest.mark.parametrize("code", ["eng", "xx", "zzz"])
def test_a_code_that_no_model_knows_is_refused(code):
    with pytest.raises(InputError, match=rf"^filters.languages: '{code}' .*did you mean '"):
        language_rule((code,))
    with pytest.raises(InputError, match=rf"^filters.language_thresholds: '{code}' "):
        language_rule(("en",), ((code, 0.5),))


def test_the_fingerprint_changes_with_model_and_thresholds_and_names_the_packages():
    recipes = [
        preset_recipe("none", ["hr"]),
        preset_recipe("none", ["hr"], (), LanguageOptions(model="lid.176")),
        preset_recipe("none", ["hr"], (), LanguageOptions(thresholds=(("hr", 0.5),))),
    ]
    assert all(recipes.count(recipe) == 1 for recipe in recipes)
    # The recogniser writes the language of every document, so it counts even if no language is dropped.
    assert preset_recipe("none", [])["language"] == model_recipe("ensemble")
    assert set(model_recipe("ensemble")["packages"]) == set(PACKAGES)


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize("name", ["words", "wordpairs", "sentences"])
def test_more_texts_are_recognised_than_by_py3langid_alone(name):
    import zstandard

    with shared_file(f"langid/lingua-{name}.tsv.zst").open("rb") as file:
        body = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file).read().decode()
    known = known_languages()[2]
    rows = [(canonical(code), text) for code, text in (row.split("\t", 1) for row in body.split("\n") if row)]
    rows = random.Random(1).sample([row for row in rows if row[0] in known], 3000)
    ours = sum(recognise(text).code == code for code, text in rows)
    theirs = sum(canonical(langid().classify(text)[0]) == code for code, text in rows)
    assert ours >= theirs


@pytest.mark.shared
def test_croatian_documents_are_kept():
    import zstandard

    with shared_file("langid/lingua-sentences.tsv.zst").open("rb") as file:
        body = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file).read().decode()
    sentences = [row[3:] for row in body.split("\n") if row.startswith("hr\t")]
    documents = ["\n".join(sentences[start : start + 12]) for start in range(0, len(sentences) - 12, 12)]
    rule = language_rule(("hr",))
    assert sum(keeps(rule, text) is None for text in documents) >= 0.95 * len(documents)
