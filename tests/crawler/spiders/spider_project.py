"""A directory with a user's spiders, and the items that they wrote."""

import json
import textwrap
from collections import Counter

from thresher.crawler.spiders import SpiderSpec

HEAD = """
import asyncio
import scrapy
from scrapy.exceptions import CloseSpider, DropItem, IgnoreRequest
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
"""
FOLLOW = """
class Follow(scrapy.Spider):
    name = "follow"
    custom_settings = {"FEEDS": {"items/%(worker)s.jsonl": {"format": "jsonlines"}}}

    def parse(self, response):
        yield {"url": response.url}
        for link in response.css("a"):
            yield response.follow(link)
"""


class Project:
    """A directory with a module of spiders."""

    count = 0

    def __init__(self, root):
        self.root = root
        root.mkdir()

    def spider_spec(self, code, name="Follow", *, settings="", **arguments):
        """Return the spider of that name in a module of its own."""
        Project.count += 1
        module = f"guests_{self.root.parent.name.replace('-', '_')}_{Project.count}"
        text = HEAD + textwrap.dedent(code).replace("items/", f"{self.root}/items/")
        (self.root / f"{module}.py").write_text(text)
        if settings:
            (self.root / f"{module}_settings.py").write_text(
                textwrap.dedent(settings).replace("HERE", module).replace("items/", f"{self.root}/items/")
            )
        return SpiderSpec(
            class_path=f"{module}:{name}",
            arguments=tuple(arguments.items()),
            settings_path=f"{module}_settings" if settings else "",
            directory=self.root,
        )

    @property
    def items(self):
        """Return the items of all workers' feeds."""
        return [
            json.loads(line)
            for path in sorted((self.root / "items").glob("*.jsonl"))
            for line in path.read_text().splitlines()
        ]


def paths_of(items):
    return Counter("/" + item["url"].split("/", 3)[3] for item in items)
