"""`without_special_tokens`: a tokenizer for which the name of a special token in a text is text like any other.

Pages are written by strangers. If `<|endoftext|>` in a page became the token of that name, any page could end
documents, or speak as the system, in somebody's training data. A tokenizer finds such names in two ways: as added
tokens, before it splits a text, and as entries of its vocabulary, which some models compare with whole words (Unigram,
WordLevel, WordPiece, BPE with `ignore_merges`). Added tokens that are special are left out here; their entries get a
name with spaces around it, and the pieces of a text that a model sees have no spaces. All ids stay as they are.
"""

import json as json_module
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from tokenizers import Tokenizer

from thresher.core import InputError

SpecialTokens = Literal["text", "ids"]
PRIVATE, PRIVATE_END = "\ufdd2", "\ufdd3"
"""Stand around the private name of a special token: noncharacters of Unicode, which no text that is exchanged has."""


class PrivateToken(NamedTuple):
    """A special token that has a private name in a tokenizer file."""

    name: str
    """The name that it has elsewhere."""
    id: int
    is_word: bool
    """Whether it counts only between characters that are not of words."""


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
    file["model"]["vocab"] = _renamed(file["model"], special, _hidden)
    changed = json_module.dumps(file, ensure_ascii=False)
    made = next(_special_from_text(Tokenizer.from_str(changed), special), None)
    if made is not None:
        raise InputError(
            f"tokenizer {name}: makes its special token {made!r} of a text that has its name, so any page could; "
            "allow it with --special-tokens ids, or take another tokenizer"
        )
    return changed


def with_private_names(json: str, name: str) -> str:
    """Return a tokenizer file that gives the ids of `json`, in which special tokens have private names: `PRIVATE`,
    their own name, `PRIVATE_END`. Their own names are text like any other.

    Offsets of its encodings are those of whole tokens. Raise `InputError`, which has the `name` of the file, if its
    model makes a special token of a text in another way.
    """
    special = special_tokens(json)
    file = json_module.loads(json)
    for token in file.get("added_tokens") or ():
        if token["content"] in special:
            token |= {"content": _private(token["content"]), "normalized": False}
    file["model"]["vocab"] = _renamed(file["model"], special, _private)
    file["post_processor"] = None  # it would trim offsets, and adds what a template has anyway
    changed = json_module.dumps(file, ensure_ascii=False)
    tokenizer = Tokenizer.from_str(changed)
    made = next(_special_from_text(tokenizer, special), None)
    moved = next((each for each, at in special.items() if tokenizer.token_to_id(_private(each)) != at), None)
    if made is not None or moved is not None:
        raise InputError(
            f"tokenizer {name}: makes its special token {made or moved!r} of a text that has its name, so any message "
            "could; take another tokenizer"
        )
    return changed


def private_tokens(json: str) -> tuple[PrivateToken, ...]:
    """Return the special tokens of a file that `with_private_names` made."""
    return tuple(
        PrivateToken(each["content"][1:-1], each["id"], bool(each.get("single_word")))
        for each in json_module.loads(json).get("added_tokens") or ()
        if each["content"].startswith(PRIVATE)
    )


def _unknown(model: Mapping[str, Any]) -> str:
    """Return the token for unknown words, or an empty text."""
    if model.get("unk_id") is not None:
        return str(model["vocab"][model["unk_id"]][0])
    return str(model.get("unk_token") or "")


def _renamed(model: Mapping[str, Any], special: Mapping[str, int], renamed: Callable[[str], str]) -> Any:
    """Return the vocabulary of a model in which special tokens have names that no text has."""
    vocabulary, merged = model["vocab"], _merged(model)
    if isinstance(vocabulary, list):
        return [[renamed(entry[0]) if entry[0] in special else entry[0], *entry[1:]] for entry in vocabulary]
    return {
        (renamed(token) if token in special and token not in merged else token): number
        for token, number in vocabulary.items()
    }


def _hidden(token: str) -> str:
    return f" {token} "


def _private(token: str) -> str:
    return f"{PRIVATE}{token}{PRIVATE_END}"


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
