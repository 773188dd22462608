"""`ChatTemplate`: render a conversation with a chat template, and find what the model is to answer in it.

1. A template is Jinja, in the dialect of `apply_chat_template` of transformers: blocks are trimmed, `break` and
   `continue` exist, `tojson` writes plain JSON, `raise_exception` refuses a conversation. It runs in Jinja's sandbox.
2. `{% generation %}` blocks hold the answers. Without such blocks, an answer is what a rendering has more than that of
   the messages before it with a generation prompt; blanks behind the control token that ends it are none of it.
3. There is no `strftime_now`: equal inputs must give equal rows. Templates that can do without it have a date of their
   own.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment

from thresher.core import InputError
from thresher.storage.columns.conversations import Message, UnusableConversation

ANSWER, ANSWER_END = "\ufdd0", "\ufdd1"
"""Stand around answers in a rendering. They are noncharacters of Unicode, which no text that is exchanged has."""
ANSWERS = "generation"
HAS_ANSWERS = re.compile(r"\{%[-+]?\s*" + ANSWERS + r"\b")
PROBE: Sequence[Message] = (
    {"role": "user", "content": "What is one?"},
    {"role": "assistant", "content": "A number."},
    {"role": "user", "content": "What is two?"},
    {"role": "assistant", "content": "Another number."},
)


class _Answers(Extension):
    """The block `{% generation %}`."""

    tags = {ANSWERS}  # noqa: RUF012 - as Jinja declares it

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements((f"name:end{ANSWERS}",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_within"), [], [], body).set_lineno(line)

    def _within(self, caller: Macro) -> str:
        return f"{ANSWER}{caller()}{ANSWER_END}"


class ChatTemplate:
    """A template that is ready to render."""

    def __init__(self, text: str, variables: Mapping[str, str]) -> None:
        """`variables` are the names that the template knows besides the messages, such as `eos_token`.

        Raise `InputError` if the text is no template, cannot render a plain conversation, or if its answers cannot be
        found.
        """
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _Answers]
        )
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _refuse
        try:
            self._template = environment.from_string(text)
        except TemplateError as error:
            raise InputError(f"chat template: is no Jinja template ({first_line(error)})") from None
        self._variables = dict(variables)
        self._has_blocks = HAS_ANSWERS.search(text) is not None
        self._blanks = 0
        """Blanks behind the control token that ends an answer."""
        self._blanks = self._checked()

    def _checked(self) -> int:
        """Return how many blanks stand behind the end of an answer."""
        try:
            text = self.render(PROBE)
        except UnusableConversation as error:
            text, reason = "", error.__cause__
            if reason is not None:
                raise InputError(
                    f"chat template: cannot render a plain conversation ({first_line(reason)})"
                ) from None
        answers = [answer.partition(ANSWER_END)[0] for answer in text.split(ANSWER)[1:]]
        if self._has_blocks and any(answers):
            return 0
        found = (
            answer.partition(message["content"])
            for answer, message in zip(answers, PROBE[1::2], strict=False)
        )
        ends = [end for begin, content, end in found if content and not begin.strip()]
        if self._has_blocks or len(ends) != len(PROBE[1::2]):
            raise InputError(
                "chat template: where answers begin and end is not clear; put {% generation %} and {% endgeneration %} "
                "around them"
            )
        return len(ends[0]) - len(ends[0].rstrip()) if ends[0].strip() else 0

    def render(self, messages: Sequence[Message]) -> str:
        """Return the text of a conversation, with `ANSWER` and `ANSWER_END` around each answer.

        Raise `UnusableConversation` with `template` if the template refuses the messages, and with `answers` if answers
        cannot be found in them.
        """
        text = self._rendered(messages, prompt=False)
        return text if self._has_blocks else "".join(self._marked(text, messages))

    def _marked(self, text: str, messages: Sequence[Message]) -> Iterator[str]:
        done = 0
        for at, message in enumerate(messages):
            if message["role"] != "assistant":
                continue
            prompt = self._rendered(messages[:at], prompt=True)
            whole = text if at + 1 == len(messages) else self._rendered(messages[: at + 1], prompt=False)
            if not (text.startswith(whole) and whole.startswith(prompt) and len(prompt) >= done):
                raise UnusableConversation("answers")
            answer = whole[len(prompt) :]
            blanks = min(self._blanks, len(answer) - len(answer.rstrip()))
            ended = answer[: len(answer) - blanks]
            yield f"{text[done : len(prompt)]}{ANSWER}{ended}{ANSWER_END}"
            done = len(prompt) + len(ended)
        yield text[done:]

    def _rendered(self, messages: Sequence[Message], *, prompt: bool) -> str:
        try:
            return self._template.render(
                messages=messages,
                tools=None,
                documents=None,
                add_generation_prompt=prompt,
                **self._variables,
            )
        except Exception as error:  # a template is a program; what it raises is its answer to these messages
            raise UnusableConversation("template") from error


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _refuse(message: str) -> None:
    raise TemplateError(message)


def first_line(error: BaseException) -> str:
    """Return what an error says, in one line."""
    return next(iter(str(error).splitlines()), type(error).__name__)
