"""Models of KenLM and SentencePiece as bytes."""

from collections.abc import Callable

from thresher.filters.signals.fasttext_file import open_path


def load_scorer(data: bytes) -> Callable[[str], float]:
    """Return a deterministic function of a line of words: the log10 of its probability, its end included.

    Raise `ValueError` if `data` is neither an ARPA file nor a binary file of KenLM.
    """
    import kenlm  # noqa: PLC0415 - an extra

    options = kenlm.Config()
    options.show_progress = False
    options.arpa_complain = kenlm.ARPALoadComplain.NONE
    try:
        with open_path(data) as path:
            model = kenlm.Model(path, options)
    except (OSError, ValueError):  # the text of KenLM's error quotes the file, and may be no UTF-8
        raise ValueError(
            "it is no language model, or it is cut off; name an ARPA file or KenLM's binary form"
        ) from None

    def score(line: str) -> float:
        return float(model.score(line.encode(errors="replace").decode(), bos=True, eos=True))

    return score


def load_pieces(data: bytes) -> Callable[[str], list[str]]:
    """Return a deterministic function of a line: its pieces. A lone surrogate is read as a question mark.

    Raise `ValueError` if `data` is no SentencePiece model.
    """
    import sentencepiece  # noqa: PLC0415 - an extra

    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(data)
    except RuntimeError:
        raise ValueError("it is no SentencePiece model, or it is cut off") from None

    def pieces(line: str) -> list[str]:
        found: list[str] = processor.EncodeAsPieces(line.encode(errors="replace").decode())
        return found

    return pieces
