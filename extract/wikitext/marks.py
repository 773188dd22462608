"""Characters that no text holds (controls are taken out of it first), with which the passes tell one another things."""

LITERAL_MARK = "\0"
"""On both sides of the number of what was set aside."""
REMOVED_MARK = "\x01"
"""Something was left out here: parentheses that held nothing else go with it."""
LINE_BREAK_MARK = "\x02"
"""A line ends here, and the paragraph goes on."""
