"""A Scrapy spider of your own on Thresher's frontier and archive: it follows a site's articles, and takes their
headlines.

Put this file into the project's directory. Then one of these runs it, and goes on where it was when it is typed again:

    thresher crawl news --spider own_spider:Headlines -a start=https://example.org/
    python own_spider.py https://example.org/

Delays, robots.txt, retries and the archive are Thresher's; docs/guides/spiders.md says what a spider may do.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import scrapy
from scrapy.http import Response, TextResponse

import thresher


class Headlines(scrapy.Spider):
    """Yields an item for each page that has a headline."""

    name = "headlines"
    # Each worker process writes files of its own.
    custom_settings = {"FEEDS": {"headlines/%(worker)s.jsonl": {"format": "jsonlines"}}}  # noqa: RUF012 - as Scrapy has it

    def __init__(self, start: str, **arguments: Any) -> None:
        """`start` is the URL to begin with."""
        super().__init__(**arguments)
        self.start_urls = [start]

    def parse(self, response: Response) -> Iterator[Any]:
        """Take the headline, and follow all links of the page within its host."""
        if not isinstance(response, TextResponse):
            return  # a picture has neither a headline nor links
        if headline := response.css("h1::text").get():
            yield {"url": response.url, "headline": headline.strip()}
        host = response.urljoin("/")
        yield from (link for link in response.follow_all(css="a[href]") if link.url.startswith(host))


def main() -> None:
    """Crawl at most fifty pages, and show what the spider has found."""
    project = thresher.Project()  # of this directory
    crawled = project.crawl(
        "news", spider="own_spider:Headlines", arguments={"start": sys.argv[1]}, max_pages=50
    )
    print(f"fetched: {crawled.outcomes.get('fetched', 0)}")
    for feed in sorted(Path("headlines").glob("*.jsonl")):
        for line in feed.read_text(encoding="utf-8").splitlines():
            item = json.loads(line)
            print(f"{item['headline']}  {item['url']}")


if __name__ == "__main__":
    main()
