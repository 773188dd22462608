"""Characters that no text holds (controls are taken out of it first), with which the passes tell one another things."""

KEPT = "\0"
"""On both sides of the number of what was set aside."""
GONE = "\x01"
"""Something was left out here: parentheses that held nothing else go with it."""
BREAK = "\x02"
"""A line ends here, and the paragraph goes on."""
