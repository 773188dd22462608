"""Conversations: lists of messages, as tables of chats and instructions have them.

A message is an object with `role` and `content`. ShareGPT's form, `from` and `value`, is read as well; its names of
roles become those that chat templates know.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

CONVERSATIONS = ("messages", "conversations")
"""Columns of published tables that hold conversations, in lower case."""
ROLES: Mapping[str, str] = {
    "human": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "model": "assistant",
    "function": "tool",
    "observation": "tool",
}
"""Roles of ShareGPT's form by the names that it has for them; every other name stays."""
ROLE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
"""Templates write roles beside their control tokens, so a role is a plain word."""

Message = dict[str, Any]


class UnusableConversation(ValueError):
    """A value that is no conversation. `reason` says what it lacks, in one word."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def messages_of(value: object) -> list[Message]:
    """Return the messages of a value: a list of objects, or JSON text of one.

    Each message has a `role` of plain letters, digits, `_` and `-`. Its `content` is a text, a list of parts, or None
    beside `tool_calls`. Keys that are None are left out, because Arrow fills missing ones. Raise `UnusableConversation`
    with `no_messages` if there is no message, and with `broken_messages` for anything else.
    """
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise UnusableConversation("broken_messages") from None
    if value is None or value == []:
        raise UnusableConversation("no_messages")
    if not isinstance(value, list):
        raise UnusableConversation("broken_messages")
    return [_message(each) for each in value]


def conversation_text(value: object) -> str:
    """Return the contents of a conversation with blank lines between them; an empty text if it is none."""
    try:
        messages = messages_of(value)
    except UnusableConversation:
        return ""
    contents = (_text(message["content"]) for message in messages)
    return "\n\n".join(each for each in contents if each.strip())


def _message(value: object) -> Message:
    if not isinstance(value, dict):
        raise UnusableConversation("broken_messages")
    message = {key: each for key, each in value.items() if each is not None}
    if "role" not in message and "from" in message:
        role = message.pop("from")
        message = {
            "role": ROLES.get(role, role) if isinstance(role, str) else role,
            "content": message.pop("value", None),
            **message,
        }
    message.setdefault("content", None)
    role, content = message.get("role"), message["content"]
    if not isinstance(role, str) or not ROLE.fullmatch(role):
        raise UnusableConversation("broken_messages")
    if not isinstance(content, str | list) and not (content is None and message.get("tool_calls")):
        raise UnusableConversation("broken_messages")
    return message


def _text(content: object) -> str:
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, dict) else part for part in content)
        return "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""
