"""The model's probabilities are those of the published formulas, and add up to one."""

import io
import random
from collections import Counter, defaultdict

import kenlm
import pytest

from thresher.filters.training.kneser_ney import FALLBACK, train_perplexity

WORDS = [f"w{n}" for n in range(20)]


def corpus(sentences: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    weights = [1 / (n + 1) for n in range(len(WORDS))]
    return [" ".join(chance.choices(WORDS, weights, k=chance.randint(1, 9))) for _ in range(sentences)]


def model_of(sentences: list[str], order: int, path) -> kenlm.Model:
    target = io.BytesIO()
    train_perplexity(sentences, order, target)
    path.write_bytes(target.getvalue())
    options = kenlm.Config()
    options.show_progress = False
    options.arpa_complain = kenlm.ARPALoadComplain.NONE
    return kenlm.Model(str(path), options)


def probability(model: kenlm.Model, context: list[str], word: str) -> float:
    state = kenlm.State()
    if context[:1] == ["<s>"]:
        model.BeginSentenceWrite(state)
        context = context[1:]
    else:
        model.NullContextWrite(state)
    for each in context:
        following = kenlm.State()
        model.BaseScore(state, each, following)
        state = following
    return float(10 ** model.BaseScore(state, word, kenlm.State()))


def by_the_formulas(sentences: list[str], order: int):  # noqa: C901 - one formula after another
    """The definition, n-gram by n-gram, with dictionaries (Heafield et al. 2013, equations 1 to 6)."""
    raw = [Counter() for _ in range(order + 1)]
    for sentence in sentences:
        line = ["<s>", *sentence.split(), "</s>"]
        for n in range(1, order + 1):
            raw[n].update(tuple(line[at : at + n]) for at in range(len(line) - n + 1))
    counts = [Counter() for _ in range(order + 1)]
    counts[order] = raw[order]
    for n in range(1, order):
        for gram in raw[n + 1]:
            counts[n][gram[1:]] += 1
        counts[n].update({gram: count for gram, count in raw[n].items() if gram[0] == "<s>"})
    del counts[1][("<s>",)]
    vocabulary = len({*counts[1]} | {("<unk>",)})

    def discount(n: int, count: int) -> float:
        t = Counter(counts[n].values())
        if not all(t[each] for each in range(1, 5)):
            return FALLBACK[min(count, 3) - 1]
        y = t[1] / (t[1] + 2 * t[2])
        found = [each - (each + 1) * y * t[each + 1] / t[each] for each in range(1, 4)]
        usable = all(0 < found[each - 1] < each for each in range(1, 4))
        return (found if usable else FALLBACK)[min(count, 3) - 1]

    sums, rest = defaultdict(float), defaultdict(float)
    for n in range(1, order + 1):
        for gram, count in counts[n].items():
            sums[n, gram[:-1]] += count
            rest[n, gram[:-1]] += discount(n, count)

    def p(gram: tuple[str, ...]) -> float:
        n = len(gram)
        shorter = p(gram[1:]) if n > 1 else 1 / vocabulary
        if not sums[n, gram[:-1]]:
            return shorter
        count = counts[n][gram]
        direct = (count - discount(n, count)) / sums[n, gram[:-1]] if count else 0.0
        return direct + rest[n, gram[:-1]] / sums[n, gram[:-1]] * shorter

    return p


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("size", [3, 300])
def test_every_probability_is_that_of_the_formulas(tmp_path, order: int, size: int):
    sentences = corpus(size, seed=order)
    model, expected = model_of(sentences, order, tmp_path / "m.arpa"), by_the_formulas(sentences, order)
    chance = random.Random(1)
    for _ in range(200):
        context = ["<s>"] * chance.randint(0, 1) + chance.choices(WORDS[:8], k=chance.randint(0, order - 2))
        word = chance.choice([*WORDS[:10], "</s>", "never"])
        gram = (*context, "<unk>" if word == "never" else word)
        assert probability(model, context, word) == pytest.approx(expected(gram), rel=1e-4)


@pytest.mark.parametrize("context", [[], ["<s>"], ["w0"], ["<s>", "w1"], ["w3", "w2"], ["never", "w1"]])
def test_the_probabilities_of_all_words_add_up_to_one(tmp_path, context: list[str]):
    sentences = corpus(400, seed=7)
    model = model_of(sentences, 4, tmp_path / "m.arpa")
    seen = {word for sentence in sentences for word in sentence.split()}
    total = sum(probability(model, context, word) for word in [*seen, "</s>", "<unk>"])
    assert total == pytest.approx(1, abs=1e-4)


def test_marks_of_the_format_are_no_words(tmp_path):
    with pytest.raises(ValueError, match="no words"):
        train_perplexity(["<s> </s> <unk>", "  "], 3, io.BytesIO())
