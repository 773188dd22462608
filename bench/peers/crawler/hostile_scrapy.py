"""Scrapy with its defaults, and a WARC written by warcio as its users write it, over the hostile web.

usage: hostile_scrapy.py --seeds FILE --out DIRECTORY [--timeout S] [--most BYTES] [--limit S]

`bench/crawler/hostile.py` runs it. It follows links of the same host. Settings are Scrapy's own, except robots.txt
(obeyed, as in every project that `startproject` creates) and the limits that the other crawler has as well.
"""

import argparse
import io
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter


class ArchiveSpider(scrapy.Spider):
    """Fetches pages, archives them, and follows their links."""

    name = "everything"
    handle_httpstatus_all = True

    def __init__(self, seeds: str, out: str, **options: Any) -> None:
        super().__init__(**options)
        self.seeds = Path(seeds).read_text().split()
        directory = Path(out) / "warc"
        directory.mkdir(parents=True, exist_ok=True)
        self.file = (directory / "scrapy-00000.warc.gz").open("wb")
        self.writer = WARCWriter(self.file, gzip=True, warc_version="1.1")
        self.file_name = "scrapy-00000.warc.gz"
        self.writer.write_record(self.writer.create_warcinfo_record(self.file_name, {"software": "scrapy"}))

    async def start(self):
        for url in self.seeds:
            yield scrapy.Request(url, meta={"handle_httpstatus_all": True})

    def parse(self, response):
        self._archive(response)
        if not isinstance(response, scrapy.http.HtmlResponse):
            return
        host = urlsplit(response.url).hostname
        for link in LinkExtractor().extract_links(response):
            if urlsplit(link.url).hostname == host:
                yield response.follow(link.url, meta={"handle_httpstatus_all": True})

    def _archive(self, response) -> None:
        lines = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, values in response.headers.items()
            for value in values
        ]
        head = StatusAndHeaders(f"{response.status} OK", lines, protocol="HTTP/1.1")
        made = self.writer.create_warc_record(
            response.url, "response", payload=io.BytesIO(response.body), http_headers=head
        )
        asked = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, values in response.request.headers.items()
            for value in values
        ]
        line = StatusAndHeaders(
            f"GET {urlsplit(response.url).path or '/'} HTTP/1.1", asked, is_http_request=True
        )
        request = self.writer.create_warc_record(response.url, "request", http_headers=line)
        self.writer.write_request_response_pair(request, made)

    def closed(self, reason: str) -> None:  # noqa: ARG002 - Scrapy's
        self.file.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--timeout", type=float, default=2)
    parser.add_argument("--most", type=int, default=2 << 20)
    parser.add_argument("--limit", type=float, default=180)
    args = parser.parse_args()
    process = CrawlerProcess(
        {
            "ROBOTSTXT_OBEY": True,
            "DOWNLOAD_TIMEOUT": args.timeout,
            "DOWNLOAD_MAXSIZE": args.most,
            "CLOSESPIDER_TIMEOUT": args.limit,
            "LOG_LEVEL": "CRITICAL",
            "USER_AGENT": "thresher",
        }
    )
    process.crawl(ArchiveSpider, seeds=args.seeds, out=args.out)
    process.start()


if __name__ == "__main__":
    main()
