"""`without_special_tokens`: a tokenizer for which the name of a special token in a text is text like any other.

Pages are written by strangers. If `<|endoftext|>` in a page became the token of that name, any page could end
documents, or speak as the system, in somebody's training data. A tokenizer finds such names in two ways: as added
tokens, before it splits a text, and as entries of its vocabulary, which some models compare with whole words (Unigram,
WordLevel, WordPiece, BPE with `ignore_merges`). Added tokens that are special are left out here; their entries get a
name with spaces around it, and the pieces of a text that a model sees have no spaces. All ids stay as they are.
"""

import json as json_module
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from tokenizers import Tokenizer

from thresher.core import InputError

SpecialTokens = Literal["text", "ids"]
"""What the name of a special token in a text becomes: text like any other, or its id."""


def special_tokens(json: str) -> dict[str, int]:
    """Return the special tokens of a tokenizer file, with their ids; without the one for unknown words, which stands
    for any text.
    """
    file = json_module.loads(json)
    unknown = _unknown(file["model"])
    return {
        each["content"]: each["id"]
        for each in file.get("added_tokens") or ()
        if each.get("special") and each["content"] not in ("", unknown)
    }


def without_special_tokens(json: str, name: str) -> str:
    """Return a tokenizer file that gives the ids of `json`, but never that of a special token.

    Raise `InputError`, which has the `name` of the file, if its model makes a special token of a text in another way.
    """
    special = special_tokens(json)
    if not special:
        return json
    file = json_module.loads(json)
    file["added_tokens"] = [each for each in file["added_tokens"] if each["content"] not in special]
    file["model"]["vocab"] = _renamed(file["model"], special)
    changed = json_module.dumps(file, ensure_ascii=False)
    made = next(_special_from_text(Tokenizer.from_str(changed), special), None)
    if made is not None:
        raise InputError(
            f"tokenizer {name}: makes its special token {made!r} of a text that has its name, so any page could; "
            "allow it with --special-tokens ids, or take another tokenizer"
        )
    return changed


def _unknown(model: Mapping[str, Any]) -> str:
    """Return the token for unknown words, or an empty text."""
    if model.get("unk_id") is not None:
        return str(model["vocab"][model["unk_id"]][0])
    return str(model.get("unk_token") or "")


def _renamed(model: Mapping[str, Any], special: Mapping[str, int]) -> Any:
    """Return the vocabulary of a model in which special tokens have names that no text has."""
    vocabulary, merged = model["vocab"], _merged(model)
    if isinstance(vocabulary, list):
        return [[_hidden(entry[0]) if entry[0] in special else entry[0], *entry[1:]] for entry in vocabulary]
    return {
        (_hidden(token) if token in special and token not in merged else token): number
        for token, number in vocabulary.items()
    }


def _hidden(token: str) -> str:
    return f" {token} "


def _merged(model: Mapping[str, Any]) -> set[str]:
    """Return the tokens that merges make, or are made of: they must keep their names."""
    pairs = [pair.split(" ") if isinstance(pair, str) else pair for pair in model.get("merges") or ()]
    return {"".join(pair) for pair in pairs} | {part for pair in pairs for part in pair}


def _special_from_text(tokenizer: Tokenizer, special: Mapping[str, int]) -> Iterator[str]:
    """Yield the special tokens whose id some text with their name still gets."""
    for token, number in special.items():
        for text in (token, f"a {token} b", f"a{token}b", _hidden(token)):
            if number in tokenizer.encode(text, add_special_tokens=False).ids:
                yield token
                break
