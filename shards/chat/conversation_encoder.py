"""`ConversationEncoder`: turn a conversation into token ids and say which of them bear loss.

1. The ids are those of `apply_chat_template` of transformers: the template is rendered, and the whole text is encoded
   at once. A token bears loss if a character of it belongs to an answer.
2. Control tokens come from the template alone. What a message has written, `<|im_end|>` for example, is text: a
   separator is put into such names before the template is rendered, and taken out afterwards. Then the control tokens
   that are left have names that no text has (`shards.special_tokens.with_private_names`).
"""

import re
from collections.abc import Collection
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thresher.core import InputError
from thresher.shards.chat.chat_file import ChatFile
from thresher.shards.chat.chat_template import ANSWER, ANSWER_END, ChatTemplate
from thresher.shards.loss_marks import marked
from thresher.shards.special_tokens import PRIVATE, PRIVATE_END, private_tokens
from thresher.shards.tokenizer import open_tokenizer
from thresher.storage.columns.conversations import UnusableConversation, messages_of

SEPARATOR = "\ufdd4"
RESERVED = re.compile(f"[{ANSWER}{ANSWER_END}{PRIVATE}{PRIVATE_END}{SEPARATOR}]")
MASKED = "masked"
REASONS = (MASKED, "no_messages", "broken_messages", "noncharacters", "template", "answers", "no_loss")
"""Why a conversation is left out: rules have masked something in its document's text; it has no messages; the list is
broken; it has noncharacters of Unicode; the template refuses it; its answers cannot be found; no token bears loss.
"""


class Rendering(NamedTuple):
    """The text of a conversation, and where its answers are."""

    text: str
    answers: list[tuple[int, int]]


class ConversationEncoder:
    """Encodes conversations in one process."""

    def __init__(self, json: str, chat: ChatFile) -> None:
        """`json` is a tokenizer file that `with_private_names` made.

        Raise `InputError` if the template cannot be used.
        """
        self._tokenizer = open_tokenizer(json)
        self._template = ChatTemplate(chat.text, dict(chat.variables))
        tokens = private_tokens(json)
        self._control = np.array([each.id for each in tokens], dtype=np.uint32)
        self._guard = Guard([each.name for each in tokens])
        names = sorted(tokens, key=lambda each: (-len(each.name), each.name))
        written = [
            rf"(?<!\w){re.escape(each.name)}(?!\w)" if each.is_word else re.escape(each.name)
            for each in names
        ]
        self._parts = re.compile("|".join((RESERVED.pattern, *written)))

    def encode(self, value: object) -> npt.NDArray[np.int32]:
        """Return the ids of a conversation, marked as `shards.loss_marks` says.

        Raise `UnusableConversation`, whose reason is one of `REASONS`, if it is to be left out.
        """
        text, answers = self.render(value)
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        ids = np.array(encoding.ids, dtype=np.uint32)
        begins, ends = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2).T
        bears_loss = np.zeros(len(ids), dtype=np.bool_)
        is_control = np.isin(ids, self._control)
        for begin, end in answers:
            # A control token may take the blanks behind it, which are the first ones of the answer, perhaps.
            bears_loss |= (begins < end) & np.where(is_control, begins >= begin, ends > begin)
        if not bears_loss.any():
            raise UnusableConversation("no_loss")
        return marked(ids, bears_loss)

    def render(self, value: object) -> Rendering:
        """Return the text of a conversation, in which control tokens have private names."""
        rendered = self._template.render([self._guard.guarded(each) for each in messages_of(value)])
        pieces: list[str] = []
        answers: list[tuple[int, int]] = []
        done = length = begin = 0
        for part in self._parts.finditer(rendered):
            pieces.append(rendered[done : part.start()])
            length += part.start() - done
            done = part.end()
            match part[0]:
                case "\ufdd0":
                    begin = length
                case "\ufdd1":
                    answers.append((begin, length))
                case "\ufdd4":
                    pass
                case name:
                    pieces.append(f"{PRIVATE}{name}{PRIVATE_END}")
                    length += len(pieces[-1])
        pieces.append(rendered[done:])
        return Rendering("".join(pieces), answers)


class Guard:
    """Puts a separator into names of control tokens that messages have."""

    def __init__(self, names: Collection[str]) -> None:
        """Raise `InputError` if a name has one character, because nothing can be put into it."""
        if short := next((name for name in names if len(name) < 2), None):
            raise InputError(
                f"--messages: the special token {short!r} has one character, so any text could be it"
            )
        self._names = re.compile(f"(?=({'|'.join(map(re.escape, names))}))") if names else None
        self._begins = {name[:length] for name in names for length in range(1, len(name))}
        self._ends = {name[-length:] for name in names for length in range(1, len(name))}
        self._longest = max(map(len, names), default=0)

    def guarded(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return a message whose texts have no control token, and neither begin nor end with a part of one, which the
        template could complete.
        """
        return {key if key == "role" else self._text(key): self._value(each) for key, each in message.items()}

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return [self._value(each) for each in value]
        if isinstance(value, dict):
            return {self._text(key): self._value(each) for key, each in value.items()}
        return value

    def _text(self, text: str) -> str:
        if RESERVED.search(text):
            raise UnusableConversation("noncharacters")
        if self._names is None:
            return text
        places = [0, *(found.start() + 1 for found in self._names.finditer(text)), len(text)]
        if len(places) > 2:
            text = SEPARATOR.join(text[begin:end] for begin, end in pairwise(places))
        lengths = range(1, self._longest)
        before = SEPARATOR if any(text[:length] in self._ends for length in lengths) else ""
        behind = SEPARATOR if any(text[-length:] in self._begins for length in lengths) else ""
        return f"{before}{text}{behind}"
