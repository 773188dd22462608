"""Extract the text of PDFs: turn positioned characters into paragraphs.

`pdfium` opens a payload. The words of each page become lines (`pdf_lines`), which `reading_order` sorts. `furniture`
removes headers and footers. Lines become paragraphs (`paragraphs`), and words that were hyphenated at line ends are
joined (`hyphens`). A page that is a picture, or whose characters differ from what a reader sees (`quality`), is left
out and counted.
"""

from thresher.extract.pdf.pdf_extraction import PdfExtraction
from thresher.extract.pdf.pdf_text import EXTRACTOR, extract

__all__ = ["EXTRACTOR", "PdfExtraction", "extract"]
