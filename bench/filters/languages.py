"""Measure language identification by length of text and by language, beside lid.176.ftz and py3langid alone.

usage: python bench/filters/languages.py --data shared/data/langid [--split held|fitted|all] [--sample N]

DATA holds lingua's test data (`lingua-words.tsv.zst`, `lingua-wordpairs.tsv.zst`, `lingua-sentences.tsv.zst`; 75
languages). The hash of a text splits it: weights and calibration were fitted on `fitted`, and `held` was kept apart.
Documents are sentences of one language joined up to a length. All programs see the same texts, in one process.

`known` is the accuracy over the languages that py3langid knows (72), `all` that over all; `group` counts a language as
right that is confused with the right one (`language_codes.GROUPS`). `docs_s_core` is documents of 3,000 characters a
CPU second. `calibration_error` is the mean distance between the score and the share of right groups (10 bins).
`croatian` is how many Croatian documents of 1,500 characters a dataset of `languages = ["hr"]` keeps; `fineweb` has
lid.176 and .65. `mixed` is the share of documents of 4,000 characters that are reported as mixed, by the part of a
second language in them, at the end or sentence by sentence. The command prints one JSON line.
"""

import argparse
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import zstandard

from thresher.filters.models.language import (
    MIN_SHARE,
    LanguageModel,
    LanguagePrediction,
    LanguageRule,
    Recogniser,
    language_rule,
    load_language_model,
    model_recipe,
)
from thresher.filters.models.language_codes import canonical, group_of
from thresher.filters.models.language_votes import clean, known_languages, langid, lid176_vote
from thresher.filters.text import AnalyzedText

LENGTHS = (500, 1500, 3000)
MIXED_LENGTH = 4000
PARTS = (0.0, 0.2, 0.3, 0.5)
MIXED_DOCUMENTS = 400


class Text(NamedTuple):
    """A text and the code of its language."""

    language: str
    text: str


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--split", choices=("held", "fitted", "all"), default="held")
    parser.add_argument("--sample", type=int, default=20_000, help="texts of each length")
    args = parser.parse_args()
    sets = {
        name: read_texts(args.data / f"lingua-{name}.tsv.zst", args.split)
        for name in ("words", "wordpairs", "sentences")
    }
    by_language = defaultdict(list)
    for language, text in sets["sentences"]:
        by_language[language].append(text)
    sets |= {f"documents_{length}": joined(by_language, length) for length in LENGTHS}
    sets = {name: texts[: args.sample] for name, texts in sets.items()}
    recognise = load_language_model()
    programs: dict[str, Callable[[str], str]] = {
        "ensemble": lambda text: recognise(text).code,
        "lid.176": _lid176,
        "py3langid": lambda text: canonical(langid().classify(text)[0]),
    }
    langid()
    print(
        json.dumps(
            {
                "bench": "languages",
                "split": args.split,
                "recipe": model_recipe("ensemble"),
                "texts": {name: len(texts) for name, texts in sets.items()},
                **{name: accuracy(answer, sets) for name, answer in programs.items()},
                "calibration_error": {
                    name: calibration_error(recognise, texts) for name, texts in sets.items()
                },
                "croatian": croatian(sets["documents_1500"]),
                "mixed": mixed(recognise, by_language),
                "by_language": languages(programs["ensemble"], sets),
            }
        )
    )


def read_texts(path: Path, split: str) -> list[Text]:
    """Return the texts of a file that belong to a split, in an order that depends on the file alone."""
    with path.open("rb") as file:
        body = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file).read().decode()
    rows = [line.split("\t", 1) for line in body.split("\n") if "\t" in line]
    wanted = {"held": {1}, "fitted": {0}, "all": {0, 1}}[split]
    texts = [Text(canonical(code), text) for code, text in rows if crc32(text.encode()) % 2 in wanted]
    random.Random(1).shuffle(texts)
    return texts


def joined(by_language: dict[str, list[str]], length: int) -> list[Text]:
    """Return documents of more than `length` characters, each of sentences of one language."""
    documents = []
    for language, sentences in by_language.items():
        part: list[str] = []
        for sentence in sentences:
            part.append(sentence)
            if sum(map(len, part)) > length:
                documents.append(Text(language, "\n".join(part)))
                part = []
    random.Random(1).shuffle(documents)
    return documents


def accuracy(answer: Callable[[str], str], sets: dict[str, list[Text]]) -> dict[str, Any]:
    """Return the accuracy of a program on each set, and its documents a CPU second on the longest."""
    known = known_languages()[2]
    result: dict[str, Any] = {}
    for name, texts in sets.items():
        began = time.process_time()
        codes = [answer(text) for _, text in texts]
        spent = time.process_time() - began
        rows = [(language, code) for (language, _), code in zip(texts, codes, strict=True)]
        result[name] = {
            "known": share(language == code for language, code in rows if language in known),
            "all": share(language == code for language, code in rows),
            "group": share(code in group_of(language) for language, code in rows),
        }
        result["docs_s_core"] = round(len(texts) / spent)
    return result


def calibration_error(recognise: Recogniser, texts: Sequence[Text]) -> float:
    """Return the mean distance between the score and the share of right groups, over ten bins of the score."""
    bins: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for language, text in texts:
        found = recognise(text)
        bins[min(int(found.score * 10), 9)].append((found.score, found.code in group_of(language)))
    distance = sum(
        abs(sum(score for score, _ in rows) - sum(right for _, right in rows)) for rows in bins.values()
    )
    return round(distance / len(texts), 4)


def croatian(documents: Sequence[Text]) -> dict[str, Any]:
    """Return how many Croatian documents a dataset of Croatian keeps."""
    texts = [text for language, text in documents if language == "hr"]
    models: dict[str, LanguageModel] = {"ensemble": "ensemble", "fineweb": "lid.176"}
    counts = {
        name: sum(
            keeps(language_rule(("hr",), (), model), load_language_model(model)(text)) for text in texts
        )
        for name, model in models.items()
    }
    return {"documents": len(texts), **counts}


def keeps(rule: LanguageRule, found: LanguagePrediction) -> bool:
    """Return whether the rule keeps a text with this prediction."""
    text = AnalyzedText(text="", language=found.code, language_score=found.score, language_share=found.share)
    return rule(text).reason is None


def mixed(recognise: Recogniser, by_language: dict[str, list[str]]) -> dict[str, float]:
    """Return the share of documents in two languages that have less than `MIN_SHARE` in their language."""
    draw = random.Random(2)
    counts: dict[str, float] = {}
    for part in PARTS:
        for order in ("end", "sentences") if part else ("none",):
            found = 0
            for _ in range(MIXED_DOCUMENTS):
                first, second = _two_languages(draw, sorted(by_language))
                sentences = _sentences(draw, by_language[first], MIXED_LENGTH * (1 - part))
                sentences += _sentences(draw, by_language[second], MIXED_LENGTH * part)
                if order == "sentences":
                    draw.shuffle(sentences)
                found += recognise("\n".join(sentences)).share < MIN_SHARE
            counts[f"{part} {order}"] = round(found / MIXED_DOCUMENTS, 4)
    return counts


def languages(answer: Callable[[str], str], sets: dict[str, list[Text]]) -> dict[str, dict[str, float]]:
    """Return the accuracy by language on sentences and on documents of 1,500 characters."""
    result: dict[str, dict[str, float]] = defaultdict(dict)
    for name in ("sentences", "documents_1500"):
        right: dict[str, list[bool]] = defaultdict(list)
        for language, text in sets[name]:
            right[language].append(answer(text) == language)
        for language, hits in sorted(right.items()):
            result[language][name] = share(hits)
    return result


def share(hits: Iterable[bool]) -> float:
    """Return the share of true values."""
    values = list(hits)
    return round(sum(values) / len(values), 4)


def _lid176(text: str) -> str:
    vote = lid176_vote(clean(text))
    return max(vote, key=lambda code: vote[code], default="")


def _two_languages(draw: random.Random, codes: list[str]) -> tuple[str, str]:
    while True:
        first, second = draw.sample(codes, 2)
        if first not in group_of(second):
            return first, second


def _sentences(draw: random.Random, sentences: list[str], length: float) -> list[str]:
    drawn: list[str] = []
    while sum(map(len, drawn)) < length:
        drawn.append(draw.choice(sentences))
    return drawn


if __name__ == "__main__":
    main()
