"""A crawl as one WACZ file, which players open: `wacz_export`."""
