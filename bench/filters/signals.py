"""Precision and recall of the signals on labelled sets, and their speed.

usage: python bench/filters/signals.py pii|license [--half dev|held] [--errors]
       python bench/filters/signals.py pii --labels FILE [--errors]
       python bench/filters/signals.py profanity --list FILE [--errors]
       python bench/filters/signals.py toxicity --labels FILE [--others FILE ...] [--list FILE]
       python bench/filters/signals.py quality --labels FILE
       python bench/filters/signals.py speed --texts FILE

`pii`, `license` and `profanity` use the sets of bench/filters/labelled, which say how they were made; `pii --labels`
takes a set of presidio-research (data/*.json) in their place. `profanity` takes a list of words. `toxicity` takes the
published sets that bench/filters/labelled/published_sets.py names: five parts of the first by hash of the text, each
scored by a fastText classifier that was trained on the other four; then a classifier of all of it on each of the
others; with --list, also the list of words on the same texts. `quality` takes JSON lines with `text` and
`majority_label` (DCLM's human labels) and does the same with five parts. `speed` takes JSON lines with `text` or
`gold_text`: documents per CPU second of each rule alone, one thread, splitting included. Files may be packed (.zst).
Prints one JSON line a class.
"""

import argparse
import io
import json
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import xxhash
import zstandard

from bench.filters.labelled.license_set import SET as LICENSES
from bench.filters.labelled.pii_set import labelled_set
from bench.filters.labelled.profanity_set import SET as PROFANITY
from bench.filters.labelled.published_sets import personal_data, toxic_texts
from thresher.filters.signals.classifier_rule import ClassifierRule
from thresher.filters.signals.contamination import ContaminationRule, KnownHashes, benchmark_hashes
from thresher.filters.signals.fasttext_file import load_classifier
from thresher.filters.signals.kenlm_file import load_pieces, load_scorer
from thresher.filters.signals.licenses import LicenseRule, statements
from thresher.filters.signals.perplexity import PerplexityRule, model_lines, normalized_lines
from thresher.filters.signals.pii import PiiMasking
from thresher.filters.signals.pseudonyms import KINDS
from thresher.filters.signals.signal_settings import PerplexityModel
from thresher.filters.signals.word_lists import Phrases, WordListRule, parse_list
from thresher.filters.text import AnalyzedText
from thresher.filters.training.classifier_training import TrainingOptions, train_classifier
from thresher.filters.training.held_out import Quality
from thresher.filters.training.held_out import quality as measured_quality
from thresher.filters.training.kneser_ney import train_perplexity
from thresher.filters.training.piece_training import train_pieces
from thresher.filters.words import words

SEED = 17
PER_KIND = 400
OPTIONS = {
    "default": TrainingOptions(),
    "few texts": TrainingOptions(epochs=50, learning_rate=0.5, dimensions=16, word_ngrams=1),
}


def main() -> None:
    """Measure one signal, and print one JSON line a class."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("signal", choices=[*SIGNALS])
    parser.add_argument("--list", type=Path)
    parser.add_argument("--labels", type=Path)
    parser.add_argument("--others", type=Path, nargs="*", default=[])
    parser.add_argument("--texts", type=Path, nargs="+")
    parser.add_argument(
        "--half",
        choices=["dev", "held"],
        default="held",
        help="the half that patterns were tuned on, or the other",
    )
    parser.add_argument(
        "--errors", action="store_true", help="print what is missed and what is found wrongly"
    )
    args = parser.parse_args()
    for row in SIGNALS[args.signal](args):
        print(json.dumps(row))


def pii(args) -> list[dict]:
    """Compare values found with values labelled: equal if kind and characters are."""
    mask = PiiMasking()
    found, labelled, right = Counter(), Counter(), Counter()
    texts = (
        personal_data(args.labels)
        if args.labels
        else labelled_set(PER_KIND, SEED)[0 if args.half == "dev" else 1 :: 2]
    )
    for text, values in texts:
        wanted = Counter(values)
        got = Counter((each.kind, text[each.start : each.end]) for each in mask.occurrences(text))
        for kind, _ in got.elements():
            found[kind] += 1
        for kind, _ in wanted.elements():
            labelled[kind] += 1
        for kind, _ in (wanted & got).elements():
            right[kind] += 1
        if args.errors and wanted != got:
            print(
                repr(text),
                "missed",
                list((wanted - got).elements()),
                "wrong",
                list((got - wanted).elements()),
            )
    rows = [
        {
            "kind": kind,
            "labelled": labelled[kind],
            "found": found[kind],
            "precision": round(right[kind] / max(found[kind], 1), 3),
            "recall": round(right[kind] / max(labelled[kind], 1), 3),
        }
        for kind in KINDS
    ]
    began = time.process_time()
    for text, _ in texts:
        mask.occurrences(text)
    return [
        *rows,
        {"texts": len(texts), "us_per_text": round(1e6 * (time.process_time() - began) / len(texts), 1)},
    ]


def license_(args) -> list[dict]:
    """Compare the licences found with those that each text states."""
    texts = [each for at, each in enumerate(LICENSES) if (at // 2 % 2 == 0) == (args.half == "dev")]
    labelled = found = right = 0
    for text, wanted in texts:
        got = {each.license for each in statements(text)}
        labelled, found, right = labelled + len(wanted), found + len(got), right + len(got & {*wanted})
        if args.errors and got != {*wanted}:
            print(repr(text), "labelled", wanted, "found", got)
    return [
        {
            "texts": len(texts),
            "labelled": labelled,
            "found": found,
            "precision": round(right / max(found, 1), 3),
            "recall": round(right / max(labelled, 1), 3),
        }
    ]


def profanity(args) -> list[dict]:
    """Compare the sentences with a listed word with those that are labelled profane."""
    phrases = Phrases.of(parse_list(args.list.read_text().splitlines()))
    found = [phrases.count(words(text.lower())) > 0 for text, _ in PROFANITY]
    right = sum(got and is_profane for got, (_, is_profane) in zip(found, PROFANITY, strict=True))
    for got, (text, is_profane) in zip(found, PROFANITY, strict=True):
        if args.errors and got != is_profane:
            print(repr(text), "labelled", is_profane)
    return [
        {
            "texts": len(PROFANITY),
            "precision": round(right / sum(found), 3),
            "recall": round(right / sum(is_profane for _, is_profane in PROFANITY), 3),
        }
    ]


def toxicity(args) -> list[dict]:
    """Score texts that a classifier was not trained on, of its own set and of others; count listed words beside it."""
    own = toxic_texts(args.labels)
    others = {path.name: toxic_texts(path) for path in args.others}
    results = []
    for name, options in OPTIONS.items():
        found = measured_quality(held_out_scores(own, options), [toxic for _, toxic in own], 0.5)
        results.append(row_of(found, options=name, texts_of=args.labels.name))
        score = load_classifier(train_classifier(examples(own), options))
        for file, texts in others.items():
            found = measured_quality(
                [score(text, "good") for text, _ in texts], [toxic for _, toxic in texts], 0.5
            )
            results.append(row_of(found, options=name, texts_of=file))
    if args.list:
        phrases = Phrases.of(parse_list(args.list.read_text().splitlines()))
        for file, texts in {args.labels.name: own, **others}.items():
            counts = [float(phrases.count(words(text.lower()))) for text, _ in texts]
            found = measured_quality(counts, [toxic for _, toxic in texts], 1)
            results.append(row_of(found, options="list of words", texts_of=file))
    return results


def quality(args) -> list[dict]:
    """Return the AUC of held-out texts, with the default options and with those for few texts."""
    texts = [(row["text"], bool(int(row["majority_label"]))) for row in read_rows(args.labels)]
    return [
        row_of(
            measured_quality(held_out_scores(texts, options), [good for _, good in texts], 0.5), options=name
        )
        for name, options in OPTIONS.items()
    ]


def held_out_scores(texts: list[tuple[str, bool]], options: TrainingOptions) -> list[float]:
    """Return a score for each text: five parts by hash, each scored by a classifier of the other four."""
    parts = [xxhash.xxh3_64_intdigest(text.encode(), 9) % 5 for text, _ in texts]
    scores = [0.0] * len(texts)
    for part in range(5):
        training = [text for text, mine in zip(texts, parts, strict=True) if mine != part]
        score = load_classifier(train_classifier(examples(training), options))
        for at, (text, _) in enumerate(texts):
            if parts[at] == part:
                scores[at] = score(text, "good")
    return scores


def examples(texts: list[tuple[str, bool]]) -> list[tuple[str, str]]:
    """Return texts as training takes them; `good` is what is looked for."""
    return [("good" if wanted else "bad", text) for text, wanted in texts]


def row_of(found: Quality, **names: str) -> dict:
    """Return a result as a line."""
    return {**names, **{key: round(value, 3) for key, value in asdict(found).items()}}


def speed(args) -> list[dict]:
    """Measure each rule alone."""
    texts = [row.get("text") or row.get("gold_text") or "" for path in args.texts for row in read_rows(path)]
    phrases = {"en": Phrases.of([f"word{n} phrase{n}" for n in range(400)])}
    hashes = benchmark_hashes((" ".join(f"w{at}x{n}" for n in range(40)) for at in range(100_000)), 13)[0]
    known = KnownHashes(hashes)
    training = [("good" if at % 2 else "bad", text) for at, text in enumerate(texts[:400])]
    score = load_classifier(train_classifier(training, TrainingOptions(epochs=1)))
    target = io.BytesIO()
    train_perplexity((line for text in texts[:300] for line in model_lines(text)), 5, target)
    scorer = load_scorer(target.getvalue())
    words_model, pieces_model = PerplexityModel("", ""), PerplexityModel("", "", "pieces")
    lines = [line for text in texts[:300] for line in normalized_lines(text)]
    split = load_pieces(train_pieces(lines, 8000))
    target = io.BytesIO()
    train_perplexity((" ".join(split(line)) for line in lines), 5, target)
    piece_scorer = load_scorer(target.getvalue())
    rules = (
        PiiMasking(),
        PiiMasking(kinds=("email", "ip")),
        LicenseRule(wanted=("CC-BY",)),
        WordListRule(lists="", most=0, phrases=lambda _: phrases),
        ContaminationRule(benchmarks="", n=13, most=0, hashes=lambda _: known),
        ClassifierRule(name="quality", model="", label="good", classifier=lambda _: score),
        PerplexityRule(models=(words_model,), scorer=lambda _: scorer, pieces=lambda _: split),
        PerplexityRule(models=(pieces_model,), scorer=lambda _: piece_scorer, pieces=lambda _: split),
    )
    characters = sum(map(len, texts))
    results = []
    for rule in rules:
        analyzed = [AnalyzedText(text=text, language="en", language_score=1.0) for text in texts]
        rule(
            AnalyzedText(
                text="call +1 650-253-0000 a@b.com 4111 1111 1111 1111", language="en", language_score=1.0
            )
        )
        began = time.process_time()
        for text in analyzed:
            rule(text)
        spent = time.process_time() - began
        results.append(
            {
                "rule": rule.name,
                "kinds": len(getattr(rule, "kinds", ())),
                "documents": len(texts),
                "per_cpu_s": round(len(texts) / spent),
                "mb_per_cpu_s": round(characters / spent / 1e6, 1),
            }
        )
    return results


def read_rows(path: Path) -> list[dict]:
    """Return the objects of a file of JSON lines."""
    opened = zstandard.open(path, "rb") if path.suffix == ".zst" else path.open("rb")
    with opened as file:
        return [json.loads(line) for line in io.TextIOWrapper(file, encoding="utf-8")]


SIGNALS = {
    "pii": pii,
    "license": license_,
    "profanity": profanity,
    "toxicity": toxicity,
    "quality": quality,
    "speed": speed,
}

if __name__ == "__main__":
    main()
