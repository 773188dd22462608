"""Subresources: what a page needs besides itself, fetched by the crawler's own client under the page's lease.

A browser that renders a page asks for some of them (`request_rules`). Each is fetched like a page: with the same guard,
politeness, limits and archive (`subresource_fetcher`, `page_lease`, `subresource_robots`), and once for many pages
(`subresource_cache`). What the fetchers of a worker's pages share is in `fetchers`.
"""
