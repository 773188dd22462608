"""KenLM models as bytes."""

from collections.abc import Callable

from filters.signals.fasttext_file import open_path


def load_scorer(data: bytes) -> Callable[[str], float]:
    """Return a deterministic function of a line of words: the log10 of its probability, its end included.

    Raise `OSError` if `data` is neither an ARPA file nor a binary file of KenLM.
    """
    import kenlm  # noqa: PLC0415 - an extra

    options = kenlm.Config()
    options.show_progress = False
    options.arpa_complain = kenlm.ARPALoadComplain.NONE
    with open_path(data) as path:
        model = kenlm.Model(path, options)

    def score(line: str) -> float:
        return float(model.score(line.encode(errors="replace").decode(), bos=True, eos=True))

    return score
