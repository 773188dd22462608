"""How the catalog's tables got their shape: one revision a change, by Alembic, written by hand, never edited later.

A catalog is a cache: a revision marks the old rows that it cannot complete as unread (an empty stamp), and the next
refresh reads them from storage. No revision goes back.
"""

REVISIONS = ("0001", "0002")
"""All revisions; the last one is today's."""
