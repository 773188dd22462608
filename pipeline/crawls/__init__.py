"""Changes to a crawl's frontier: seeds, operator commands, rescrape, retry, refetch, rebuild."""
