"""The workers of a crawl, watched until the frontier drains. Entry point: `crawl_command.crawl`."""
