"""A user's own Scrapy spider, as a guest on our frontier, our wire and our archive.

**What is whose.** Which URL is fetched and when, robots rules, delays, redirects, retries, connections and what is
archived are ours, whatever the spider's settings say (`terms`). What to make of an answer is the spider's: its
callbacks, its middlewares, its item pipelines, its feeds.

**The life of a request.** What `start` yields is added to the frontier before any worker begins (`start`). A lease
becomes a request of Scrapy's again, with the callback, `cb_kwargs`, `meta` and headers that lie in its note
(`errand`). It goes through the spider's downloader middlewares to our handler (`handler`), and what came goes to the
callback. What the callback yields is taken at one place (`engine`): items go on through the pipelines, requests become
discoveries of the page's settlement (`visit`). When the callback is through and its items are where they are to be
(`feeds`), the page is archived, and then its lease is settled with them.

So a page whose worker is killed before that is fetched and read again: nothing that its spider found is lost, and items
come at least once.
"""

from crawler.spiders.spider_spec import SpiderSpec

__all__ = ["SpiderSpec"]
