"""Text to token ids, by a Hugging Face tokenizer file.

Ids are what `Tokenizer.encode(text, add_special_tokens=False)` gives: a document is stored without
begin or end marks, which belong to packing. Without a file there is the byte tokenizer: the id of a byte of
UTF-8 is its rank in the byte-level alphabet, vocabulary 256.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from core import InputError

RARE_CHARACTERS = "\ua66e \U00012000 \U000f0000"
"""A letter of medieval Slavonic manuscripts, one of cuneiform, and a private character: no vocabulary of words has them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerFile:
    """A tokenizer by content: travels to worker processes and into the recipe."""

    name: str
    json: str
    sha256: str
    vocabulary: int

    @property
    def recipe(self) -> dict[str, str | int]:
        """What the export's manifest says of it."""
        return {"name": self.name, "sha256": self.sha256, "vocabulary": self.vocabulary}


def load_tokenizer_file(path: Path | None) -> TokenizerFile:
    """Read a `tokenizer.json`; None is the byte tokenizer. Raises InputError for what is no tokenizer, and for one that fails
    at a word that it does not know: some page has one.
    """
    if path is None:
        return _tokenizer_file("bytes", _byte_tokenizer().to_str())
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"tokenizer {path}: no such file; give the path of a tokenizer.json") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"tokenizer {path}: cannot be read as text ({error}); give a tokenizer.json"
        ) from None
    try:
        described = _tokenizer_file(path.name, text)
    except Exception as error:  # noqa: BLE001 - the library raises bare Exception for a malformed file
        raise InputError(
            f"tokenizer {path}: not a Hugging Face tokenizer.json ({str(error).splitlines()[0]})"
        ) from None
    try:
        open_tokenizer(text).encode(RARE_CHARACTERS, add_special_tokens=False)
    except Exception as error:  # noqa: BLE001 - the same for a word that it does not know
        raise InputError(
            f"tokenizer {path}: fails at a word that is not in its vocabulary ({str(error).splitlines()[0]}); train it with an "
            "unknown token (unk_token) that is in the vocabulary, or take one of bytes"
        ) from None
    return described


def open_tokenizer(json: str) -> Tokenizer:
    """A tokenizer ready to encode; one for each process.

    Truncation and padding that the file may ask for are off: they belong to a model's input, and would make
    a document's tokens depend on its neighbours.
    """
    tokenizer = Tokenizer.from_str(json)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _tokenizer_file(name: str, text: str) -> TokenizerFile:
    tokenizer = Tokenizer.from_str(text)
    return TokenizerFile(
        name=name,
        json=text,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        vocabulary=tokenizer.get_vocab_size(),
    )


def _byte_tokenizer() -> Tokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: n for n, letter in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer
