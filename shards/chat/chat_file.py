"""`ChatFile`: the chat template that a user names, or the one that comes with a tokenizer.

Tokenizers of the Hugging Face Hub have theirs in `chat_template.jinja` or in `tokenizer_config.json`, beside
`tokenizer.json`; a few have several, with names. The second file names the tokens that templates write, too.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thresher.core import InputError

CONFIGURATION, TEMPLATE, MORE_TEMPLATES = (
    "tokenizer_config.json",
    "chat_template.jinja",
    "additional_chat_templates",
)
DEFAULT = "default"
VARIABLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
"""Names of special tokens that templates may write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatFile:
    """A chat template and the tokens that it names, as they are passed to worker processes."""

    name: str
    text: str
    variables: tuple[tuple[str, str], ...] = ()
    """Names that the template knows, and the token of each."""

    @property
    def recipe(self) -> dict[str, Any]:
        """The facts about the template in the export's manifest."""
        return {
            "name": self.name,
            "sha256": hashlib.sha256(self.text.encode()).hexdigest(),
            "variables": dict(self.variables),
        }


def load_chat_file(wanted: str | Path | None, tokenizer: Path | None) -> ChatFile:
    """Return the template that a user names: a file, or the name of one that the tokenizer has. None stands for the
    tokenizer's own.

    Raise `InputError` if there is no such template, or if it cannot be read.
    """
    configuration = {} if tokenizer is None else _configuration(tokenizer.with_name(CONFIGURATION))
    variables = tuple((name, _content(configuration[name])) for name in VARIABLES if configuration.get(name))
    own = {} if tokenizer is None else _own_templates(tokenizer, configuration)
    if wanted is not None and (path := Path(wanted)).is_file():
        return ChatFile(name=path.name, text=_read(path), variables=variables)
    name = DEFAULT if wanted is None else str(wanted)
    if name in own:
        return ChatFile(name=name, text=own[name], variables=variables)
    known = f"; the tokenizer has {', '.join(sorted(own))}" if own else ""
    if wanted is None:
        raise InputError(
            f"--messages: the tokenizer has no chat template; give one with --chat-template FILE{known}"
        )
    raise InputError(f"--chat-template {wanted}: is no file and no template of the tokenizer{known}")


def _own_templates(tokenizer: Path, configuration: Mapping[str, Any]) -> dict[str, str]:
    found = configuration.get("chat_template")
    own = {DEFAULT: found} if isinstance(found, str) else {}
    if isinstance(found, list):
        own = {str(each["name"]): str(each["template"]) for each in found if {"name", "template"} <= {*each}}
    if (path := tokenizer.with_name(TEMPLATE)).is_file():
        own[DEFAULT] = _read(path)
    more = tokenizer.with_name(MORE_TEMPLATES).glob("*.jinja")
    return own | {path.stem: _read(path) for path in sorted(more)}


def _configuration(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = json.loads(_read(path))
    except ValueError:
        raise InputError(f"{path}: is no JSON; get the file again") from None
    return found if isinstance(found, dict) else {}


def _content(token: object) -> str:
    return str(token.get("content", "")) if isinstance(token, dict) else str(token)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text ({error})") from None
