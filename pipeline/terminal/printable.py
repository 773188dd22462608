r"""Make text printable that contains foreign parts: names of files, columns and hosts, messages of libraries.

Characters that a terminal obeys are shown as Python escapes (`\x1b`), because a name in an archive must not clear the
screen, set a title, or reverse the text after it.
"""

import json
import re
from typing import Any

from thresher.core.unicode14 import is_printable

_TERMINAL_CONTROLS = re.compile(r"[\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Control characters that JSON does not escape: C1 controls, line separators, and marks of direction."""


def printable(text: str) -> str:
    """Return `text` with every character escaped that is not visible, a line feed or a tab."""
    if is_printable(text):
        return text
    return "".join(each if is_printable(each) or each in "\n\t" else _escaped(each) for each in text)


def printable_json(value: Any) -> str:
    """Return a value as JSON on one line. Letters of all scripts stay unescaped."""
    return _TERMINAL_CONTROLS.sub(
        lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False, default=str)
    )


def _escaped(character: str) -> str:
    # A no-break space, or a mark that joins two letters, is text: terminals show it and do not obey it.
    if character in "\xa0\u200c\u200d\xad\u3000":
        return character
    return repr(character)[1:-1]
