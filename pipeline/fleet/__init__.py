"""The workers of a crawl, supervised until the frontier drains. The entry point is `crawl_command.crawl`."""
