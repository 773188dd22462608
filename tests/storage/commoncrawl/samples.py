"""A line of an index, and its row."""

from thresher.storage.commoncrawl.index.row import parse

LINE = (
    'org,example)/a 20240518015810 {"url": "https://example.org/a", "mime": "text/html", "mime-detected": "text/html", '
    '"status": "200", "digest": "RY7PLBUFQNI2FFV5FTUQK72W6SNPXLQU", "length": "17423", "offset": "80610731", "filename": '
    '"crawl-data/CC-MAIN-2024-22/segments/1/warc/x.warc.gz", "charset": "UTF-8", "languages": "spa,eng", "truncated": "length"}'
)
ROW = parse(LINE)
