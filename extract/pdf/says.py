"""What a PDF plainly says of itself: title, author, day, language. Nothing is guessed.

Of the information dictionary; PDFium reads no XMP, which says the same in another form.
"""

import re
from datetime import date as day

from extract.pdf.pdfium import Book
from extract.pdf.quality import normal

LONGEST_TITLE = 1_000
"""Characters."""
_FILE = re.compile(r"(?:microsoft (?:word|powerpoint|excel) - ?)?\S+\.(?:docx?|pdf|pptx?|xlsx?|rtf|indd|qxd|tex|dvi|odt)", re.IGNORECASE)
"""A name of a file is what programs put where nobody said a title."""
_DATE = re.compile(r"(?:D:)?(\d{4})-?(\d{2})?-?(\d{2})?")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8}){0,4}")


def title(book: Book) -> str:
    """`Title`; empty where that is the name of a file."""
    found = " ".join(normal(book.fact("Title")).split())[:LONGEST_TITLE]
    return "" if _FILE.fullmatch(found) or found.lower() in {"untitled", "(anonymous)", "unspecified"} else found


def author(book: Book) -> str:
    """`Author`, as written."""
    found = " ".join(normal(book.fact("Author")).split())[:LONGEST_TITLE]
    return "" if found.lower() in {"(anonymous)", "anonymous", "unknown"} else found


def date(book: Book) -> str:
    """Day of `CreationDate` (ISO 32000-1, 7.9.4); empty where that is no day."""
    found = _DATE.match(book.fact("CreationDate").strip())
    if not found or not found[2] or not found[3]:
        return ""
    try:
        return day(int(found[1]), int(found[2]), int(found[3])).isoformat()
    except ValueError:
        return ""


def language(book: Book) -> str:
    """`Lang` of the catalog."""
    found = _LANGUAGE.fullmatch(book.language().strip())
    return found[0] if found else ""
