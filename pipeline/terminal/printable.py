r"""Text for a terminal, of which parts are other people's: names of files, columns, hosts, what a library says of them.

What a terminal would obey is shown as it is written in Python (`\x1b`): a name in an archive must not clear the screen, set a title, or
turn the text behind it round.
"""

import json
import re
from typing import Any

_TERMINAL_CONTROLS = re.compile(r"[\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""What JSON leaves as it is: C1 controls, separators of lines, and marks of direction."""


def printable(text: str) -> str:
    """Return the text with everything escaped that is no visible character, line feed or tab."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in "\n\t" else _escaped(each) for each in text)


def printable_json(value: Any) -> str:
    """Return a value as JSON on one line, other scripts as they are."""
    return _TERMINAL_CONTROLS.sub(
        lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False, default=str)
    )


def _escaped(character: str) -> str:
    # A no-break space, or a mark that joins two letters, is text: terminals show it, and obey nothing.
    if character in "\xa0\u200c\u200d\xad\u3000":
        return character
    return repr(character)[1:-1]
