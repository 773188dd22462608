"""Characters with which one pass leaves marks for the next. No text contains them, because control characters are
removed first.
"""

LITERAL_MARK = "\0"
"""Encloses the number of a literal."""
REMOVED_MARK = "\x01"
"""Marks a place where something was left out; parentheses that held nothing else are removed with it."""
LINE_BREAK_MARK = "\x02"
"""Marks the end of a line within a paragraph."""
