"""What is done to a crawl: seeds, operator verbs, rescrape, retry, refetch, rebuild."""
