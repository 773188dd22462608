"""scrapy-redis as its users run it, with a WARC written by warcio: a crawl of the hosts of the seeds.

usage: crawl_scrapy.py --redis unix://PATH --pages N [--slots N] [--warc FILE] SEED...

It uses Scrapy's link extractor and scrapy-redis's scheduler and duplicate filter, and writes a response record for each
page. It requests no robots.txt, and has no delay. It prints one JSON line with the CPU of this process and, separately,
that of the Redis server.
"""

import io
import json
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import scrapy
from redis import Redis
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy_redis.spiders import RedisSpider
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.peers.costs import peak_mb
from bench.peers.crawler.crawl_arguments import crawl_arguments

SEEDS = "scrapy:seeds"


class Site(RedisSpider):
    """Archives each response, and follows its links."""

    name = "site"
    redis_key = SEEDS
    max_idle_time = 2

    def __init__(self, writer: WARCWriter, hosts: frozenset[str], **options: object) -> None:
        super().__init__(**options)
        self.writer, self.hosts, self.links = writer, hosts, LinkExtractor()
        self.archived = self.found = 0

    def parse(self, response):
        """Archive the response, and follow its links."""
        fields = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, values in response.headers.items()
            for value in values
        ]
        head = StatusAndHeaders(f"{response.status} OK", fields, protocol="HTTP/1.1")
        body = io.BytesIO(response.body)
        self.writer.write_record(
            self.writer.create_warc_record(response.url, "response", payload=body, http_headers=head)
        )
        self.archived += 1
        if isinstance(response, scrapy.http.HtmlResponse):
            for link in self.links.extract_links(response):
                self.found += 1
                if urlsplit(link.url).netloc in self.hosts:
                    yield response.follow(link)


def server_cpu_s(server: Redis) -> float:
    """Return the CPU seconds of the server so far."""
    used = server.info("cpu")
    return used["used_cpu_user"] + used["used_cpu_sys"]


def main() -> None:
    """Crawl, and print the line."""
    args = crawl_arguments(__doc__)
    server = Redis.from_url(args.redis)
    server.rpush(SEEDS, *args.seeds)
    process = CrawlerProcess(
        {
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
            "REDIS_URL": args.redis,
            "CLOSESPIDER_PAGECOUNT": args.pages,
            "CONCURRENT_REQUESTS": args.slots,
            "CONCURRENT_REQUESTS_PER_DOMAIN": args.slots,
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": False,
            "TELNETCONSOLE_ENABLED": False,
            "LOG_LEVEL": "ERROR",
        }
    )
    crawler = process.create_crawler(Site)
    hosts = frozenset(urlsplit(seed).netloc for seed in args.seeds)
    served, begun, cpu = server_cpu_s(server), time.perf_counter(), time.process_time()
    with open(args.warc, "wb") as file:  # noqa: PTH123 - /dev/null is a file as well
        process.crawl(crawler, writer=WARCWriter(file, gzip=True), hosts=hosts)
        process.start()
    wall, cpu, served = time.perf_counter() - begun, time.process_time() - cpu, server_cpu_s(server) - served
    spider = crawler.spider
    assert isinstance(spider, Site)
    pages = spider.archived
    if not pages:
        sys.exit("no page was fetched: are the sites up?")
    print(
        json.dumps(
            {
                "peer": "scrapy-redis",
                "version": f"scrapy {scrapy.__version__}",
                "pages": pages,
                "links": spider.found,
                "cpu_ms_page": round(1000 * cpu / pages, 3),
                "server_cpu_ms_page": round(1000 * served / pages, 3),
                "pages_s_core": round(pages / cpu, 1),
                "wall_s": round(wall, 2),
                "peak_rss_mb": peak_mb(),
            }
        )
    )


if __name__ == "__main__":
    main()
