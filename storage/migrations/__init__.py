"""How the catalog's tables came to be: one revision a change, by Alembic, written by hand, never edited later.

A catalog is a cache: what a revision cannot know of the old rows it marks as unread (an empty stamp), and the
next refresh reads it from storage. No revision leads back.
"""

REVISIONS = ("0001", "0002")
"""All of them, the last is today's."""
