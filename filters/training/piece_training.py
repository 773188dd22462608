"""Train a SentencePiece model with CCNet's settings (facebookresearch/cc_net, Makefile).

Training is deterministic: it runs in one thread, and the same lines in the same order give the same bytes. It takes
some 25 bytes of memory for each character.
"""

import io
from collections.abc import Iterable, Iterator

COVERAGE = 0.9995
"""Share of the characters of a corpus that are pieces; the rarest are unknown."""
MAX_CORPUS_CHARACTERS = 200_000_000
"""Characters of a corpus: 5 GB of memory."""


def train_pieces(lines: Iterable[str], size: int) -> bytes:
    """Return a unigram model of at most `size` pieces. Lines of more than 4,192 bytes are left out.

    Raise `ValueError` if there is nothing to train on, if `size` is too small for the characters of the corpus, or if
    the corpus has more than `MAX_CORPUS_CHARACTERS`.
    """
    import sentencepiece  # noqa: PLC0415 - an extra

    made = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=_bounded(lines),
            model_writer=made,
            model_type="unigram",
            vocab_size=size,
            hard_vocab_limit=False,
            character_coverage=COVERAGE,
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise ValueError(str(error).rpartition("] ")[2]) from None  # in front stands a line of its code
    return made.getvalue()


def _bounded(lines: Iterable[str]) -> Iterator[str]:
    size = 0
    for line in lines:
        size += len(line)
        if size > MAX_CORPUS_CHARACTERS:
            raise ValueError(f"more than {MAX_CORPUS_CHARACTERS:,} characters; take a part of the corpus")
        yield line.encode(errors="replace").decode()
    if not size:
        raise ValueError("there are no words")
