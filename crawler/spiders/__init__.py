"""A user's own Scrapy spider on our frontier, our wire and our archive.

**Who decides what.** Thresher decides which URL is fetched and when, robots rules, delays, redirects, retries,
connections and what is archived, whatever the spider's settings say (`spider_settings`). The spider decides what to do
with a response: its callbacks, its middlewares, its item pipelines, its feeds.

**The life of a request.** The requests that `start` yields are added to the frontier before any worker starts
(`start_discoveries`, `start_requests`). A lease becomes a request of Scrapy again, with the callback, `cb_kwargs`,
`meta` and headers from its request state (`spider_request`). It goes through the spider's downloader middlewares to our
handler (`download_handler`), and the response goes to the callback. One place takes what the callback yields
(`spider_engine`): items go on through the pipelines, requests become discoveries of the page's settlement (`visit`).
When the callback has ended and its items are on disk (`feeds`), the page is archived, and then its lease is settled
with the discoveries.

So a page whose worker is killed before that is fetched and read again: nothing that its spider found is lost, and items
come at least once.
"""

from thresher.crawler.spiders.spider_spec import SpiderSpec

__all__ = ["SpiderSpec"]
