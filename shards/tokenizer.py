"""Turn text into token ids with a Hugging Face tokenizer file.

The ids are those of `Tokenizer.encode(text, add_special_tokens=False)`; `shards.special_tokens` says what becomes of
the names of special tokens in a text. A document is stored without begin and end
marks, because these belong to packing. If no file is given, the byte tokenizer is used: the id of a UTF-8 byte is its
rank in the byte-level alphabet, and the vocabulary has 256 tokens.
"""

import hashlib
import json as json_module
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from thresher.core import InputError

BYTES = "bytes"
"""Name of the byte tokenizer."""
END_TOKENS = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|eos|>")
"""End tokens of GPT-2 and GPT-NeoX, Llama 3, SentencePiece models, Gemma, and others; the first one that a vocabulary
has is taken.
"""
RARE_CHARACTERS = "\ua66e \U00012000 \U000f0000"
"""A letter of medieval Slavonic manuscripts, one of cuneiform, and a private character: no vocabulary of words has them
all.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerFile:
    """A tokenizer and its digest, as it is passed to worker processes."""

    name: str
    json: str
    sha256: str
    vocabulary: int
    largest_id: int
    """The largest id of the vocabulary, added tokens included."""
    end_token: str = ""
    """The token that ends a document according to the tokenizer's files, or empty."""

    @property
    def recipe(self) -> dict[str, str | int]:
        """The facts about the tokenizer in the export's manifest."""
        return {"name": self.name, "sha256": self.sha256, "vocabulary": self.vocabulary}


def chosen_tokenizer(name: str | Path | None) -> TokenizerFile | None:
    """Return the tokenizer that a user names: the path of a `tokenizer.json`, or `bytes`; None if `name` is None.

    Raise `InputError` as `load_tokenizer_file` does.
    """
    if name is None:
        return None
    return load_tokenizer_file(None if str(name) == BYTES else Path(name))


def load_tokenizer_file(path: Path | None) -> TokenizerFile:
    """Return the tokenizer of a `tokenizer.json`; return the byte tokenizer if `path` is None.

    Raise `InputError` if the file is not a tokenizer, or if the tokenizer fails at a word that it does not know,
    because some page will have such a word.
    """
    if path is None:
        tokenizer = _byte_tokenizer()
        return _tokenizer_file(BYTES, tokenizer.to_str(), tokenizer)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"tokenizer {path}: no such file; give the path of a tokenizer.json") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"tokenizer {path}: cannot be read as text ({error}); give a tokenizer.json"
        ) from None
    try:
        tokenizer = open_tokenizer(text)
        described = _tokenizer_file(path.name, text, tokenizer, _configured_end(path))
    except Exception as error:  # noqa: BLE001 - the library raises bare Exception for a malformed file
        raise InputError(
            f"tokenizer {path}: not a Hugging Face tokenizer.json ({str(error).splitlines()[0]})"
        ) from None
    try:
        tokenizer.encode(RARE_CHARACTERS, add_special_tokens=False)
    except Exception as error:  # noqa: BLE001 - the same for a word that it does not know
        raise InputError(
            f"tokenizer {path}: fails at a word that is not in its vocabulary ({str(error).splitlines()[0]});"
            " train it with an unknown token (unk_token) that is in the vocabulary, or take one of bytes"
        ) from None
    return described


def open_tokenizer(json: str) -> Tokenizer:
    """Return a tokenizer that is ready to encode; each process opens its own.

    Truncation and padding are switched off even if the file asks for them: they belong to the input of a model, and
    would make the tokens of a document depend on its neighbours.
    """
    tokenizer = Tokenizer.from_str(json)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def end_token(tokenizer: TokenizerFile, wanted: str | None) -> int | None:
    """Return the id that ends each document: `wanted` is an id, a token or `none`; None stands for the tokenizer's own
    end token, if its files name one.

    Raise `InputError` if the tokenizer has no such token.
    """
    return named_token(tokenizer, tokenizer.end_token or "none" if wanted is None else wanted, "--eos")


def named_token(tokenizer: TokenizerFile, wanted: str, option: str) -> int | None:
    """Return the id that `wanted`, an id, a token or `none`, means. Raise `InputError`, which names the option, if the
    tokenizer has no such token.
    """
    if wanted == "none":
        return None
    if wanted.isascii() and wanted.isdigit():
        if int(wanted) <= tokenizer.largest_id:
            return int(wanted)
    elif (found := Tokenizer.from_str(tokenizer.json).token_to_id(wanted)) is not None:
        return int(found)
    raise InputError(
        f"{option} {wanted}: is no token of {tokenizer.name} and no id from 0 to {tokenizer.largest_id}; "
        "give a token, its id, or none"
    )


def _tokenizer_file(name: str, text: str, tokenizer: Tokenizer, configured_end: str = "") -> TokenizerFile:
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    special = {each.content for each in tokenizer.get_added_tokens_decoder().values() if each.special}
    own_end = [token for token in END_TOKENS if token in special]
    return TokenizerFile(
        name=name,
        json=text,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        vocabulary=tokenizer.get_vocab_size(),
        largest_id=max(vocabulary.values(), default=0),
        end_token=configured_end if configured_end in vocabulary else own_end[0] if own_end else "",
    )


def _configured_end(path: Path) -> str:
    """Return the `eos_token` of the `tokenizer_config.json` beside a tokenizer file, or an empty text."""
    try:
        token = json_module.loads(path.with_name("tokenizer_config.json").read_text(encoding="utf-8"))[
            "eos_token"
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    content = token.get("content") if isinstance(token, dict) else token
    return content if isinstance(content, str) else ""


def _byte_tokenizer() -> Tokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: n for n, letter in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer
