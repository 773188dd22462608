"""What `bench/crawler/crawl.py` gives each crawler that it is compared with. Standard library only."""

import argparse
import os


def crawl_arguments(description: str | None) -> argparse.Namespace:
    """Read the arguments: URLs to start with, the Redis server, pages to fetch, requests at a time, and the archive."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("seeds", nargs="+")
    parser.add_argument("--redis", required=True)
    parser.add_argument("--pages", type=int, required=True)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--warc", default=os.devnull)
    return parser.parse_args()
