"""Train a fastText classifier (Joulin et al. 2016, arXiv:1607.01759) with floret, Explosion's fork of fastText.

1. Training runs in one thread with a fixed seed: the same texts in the same order give the same bytes.
2. The vectors of words and n-grams are stored by product quantization (fastText.zip, arXiv:1612.03651): two numbers
   take one byte, so a model has an eighth of its size, and tells labels apart as well.
3. floret's files have two numbers more than fastText's. They are taken out, so every fastText reads the model.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from thresher.core.installation.extras import missing_extra
from thresher.filters.models.fasttext_layout import CENTROIDS, LABEL, labels
from thresher.filters.signals.fasttext_file import model_input, open_path

SEED = 0
_ARGUMENTS = 8
"""Bytes of magic and version, before the arguments."""
_EXTRA = slice(_ARGUMENTS + 4 * 11, _ARGUMENTS + 4 * 13)
"""Bytes of the two arguments that only floret has: the twelfth and thirteenth."""
_PART = 2
"""Numbers of a vector that a byte stands for: fastText's own default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOptions:
    """Parameters of the training. The defaults are fastText's, but for pairs of words, as DCLM trains."""

    dimensions: int = 100
    epochs: int = 5
    learning_rate: float = 0.1
    word_ngrams: int = 2
    characters: tuple[int, int] = (0, 0)
    """Lengths of the n-grams of characters, from and to; 0 for none."""
    buckets: int = 200_000
    """Slots for n-grams; fastText's default is 2,000,000."""
    min_count: int = 1

    @property
    def recipe(self) -> dict[str, Any]:
        """Every parameter, and the seed."""
        return {**asdict(self), "characters": list(self.characters), "seed": SEED, "quantized": _PART}


def train_classifier(examples: Iterable[tuple[str, str]], options: TrainingOptions) -> bytes:
    """Return a fastText model that tells labels apart. `examples` are labels and texts, in any order.

    The file of the examples is held in memory. Raise `ValueError` if the options suit no model of these examples, and
    `InputError` if floret is not installed.
    """
    try:
        import floret  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing_extra("signals", "training needs floret") from None
    lines = [f"{LABEL}{label} {model_input(text)}\n" for label, text in _interleaved(examples)]
    shortest, longest = options.characters
    with open_path("".join(lines).encode()) as source, open_path(b"") as target:
        try:
            model = floret.train_supervised(
                source,
                dim=options.dimensions,
                epoch=options.epochs,
                lr=options.learning_rate,
                wordNgrams=options.word_ngrams,
                minn=shortest,
                maxn=longest,
                bucket=options.buckets,
                minCount=options.min_count,
                thread=1,
                seed=SEED,
                verbose=0,
            )
        except MemoryError:
            raise ValueError("the model does not fit into memory; use fewer buckets or dimensions") from None
        except RuntimeError as error:  # "Encountered NaN."
            raise ValueError(f"the training failed ({error}); use a lower learning rate") from None
        if model.get_input_matrix().shape[0] >= CENTROIDS:
            model.quantize(dsub=_PART)
        model.save_model(target)
        with open(target, "rb") as file:  # noqa: PTH123 - a path in memory
            data = file.read()
    made = data[: _EXTRA.start] + data[_EXTRA.stop :]
    try:
        labels(made)
    except ValueError as error:  # floret does not notice that a write fails
        raise ValueError(f"the model could not be written whole ({error}); see `ulimit -f`") from None
    return made


def _interleaved(examples: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the examples in an order that mixes labels: stochastic descent forgets a label that it sees no more."""
    import xxhash  # noqa: PLC0415 - only here

    return sorted(
        examples,
        key=lambda each: (xxhash.xxh3_64_intdigest(each[1].encode(errors="surrogatepass"), SEED), each),
    )
