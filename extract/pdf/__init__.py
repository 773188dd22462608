"""PDF to text: from the boxes of characters to paragraphs.

A payload is opened (`pdfium`), each page becomes lines (`pdf_lines`) in the order in which they are read (`reading_order`); what
repeats over the pages is taken off (`furniture`); lines become paragraphs (`paragraphs`) and words that were parted at
the ends of lines are whole again (`hyphens`). A page that is a picture, or whose characters are not what is seen on it
(`quality`), is left out and counted.
"""

from extract.pdf.pdf_extraction import PdfExtraction
from extract.pdf.pdf_text import EXTRACTOR, extract

__all__ = ["EXTRACTOR", "PdfExtraction", "extract"]
