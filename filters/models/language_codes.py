"""Codes of languages: one code a language, whichever model names it, and the groups that models confuse.

A code is that of ISO 639-1 if the language has one, else that of ISO 639-3.
"""

from collections.abc import Mapping

SAME: Mapping[str, str] = {
    "iw": "he",
    "jw": "jv",
    "nb": "no",
    "sh": "sr",
    "zh-Hant": "zh",
    "als": "gsw",  # Wikipedia's code, which lid.176 uses; ISO 639-3 gives it to Albanian
    "gug": "gn",
    "kik": "ki",
    "uzs": "uz",
}
"""Other codes of models and of older standards. Bokmål is `no`; Serbo-Croatian is `sr`, as its texts are read by
`GROUPS` together."""
NO_LANGUAGE = frozenset({"", "un", "zxx", "zzp", "tlh"})
"""Labels of models for text without a language (code, numbers), for pig Latin and for Klingon."""
SCRIPT = "xx-"
"""Start of CLD2's labels for a script that no language of its own is known for."""
SOUTH_SLAVIC = frozenset({"bs", "hr", "sr"})
SCANDINAVIAN = frozenset({"da", "nn", "no"})
GROUPS: tuple[frozenset[str], ...] = (
    SOUTH_SLAVIC,
    SCANDINAVIAN,
    frozenset({"id", "ms"}),
    frozenset({"es", "gl", "pt"}),
    frozenset({"cs", "sk"}),
    frozenset({"ar", "ary", "arz"}),
    frozenset({"wuu", "yue", "zh"}),
    frozenset({"nso", "st", "tn"}),
    frozenset({"ss", "xh", "zu"}),
    frozenset({"rn", "rw"}),
)
"""Languages that models confuse with each other and with no other. A text's score is that of its group: it says that
the text is in one of them. The best of the group is its language."""
_GROUP_OF = {code: group for group in GROUPS for code in group}


def canonical(label: str) -> str:
    """Return the one code of a language; return "" for a label that names no language."""
    code = SAME.get(label, label)
    return "" if code in NO_LANGUAGE or code.startswith(SCRIPT) else code


def group_of(code: str) -> frozenset[str]:
    """Return the languages that are decided together with `code`, itself included."""
    return _GROUP_OF.get(code) or frozenset({code})
