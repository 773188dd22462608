"""Every error that Thresher raises on purpose.

A `ThresherError` means that a run is wrong and cannot go on. A failure of one URL, one record or one document is data
(an outcome, a skip, a verdict with its reason) and ends no run (`core.failure`).
"""


class ThresherError(Exception):
    """The root of the tree; its text is one line that says what, where, and what to do."""


class InputError(ThresherError):
    """The user's input is wrong: a file, a key, an address, an option."""


class Unavailable(ThresherError):
    """Something that the user's configuration names does not answer or has no room left."""


class Conflict(ThresherError):
    """Stored work belongs to another recipe, to other inputs, or to another writer than the present ones."""


class Interruption(ThresherError):
    """The user asked for an end before the work was done."""


class CorruptData(ThresherError):
    """Stored bytes are missing, or are not those that were sealed. The text names the file."""
