"""`DurableFile`: Scrapy's storage of a feed in a local file, registered in the worker's `FeedFiles`."""

from typing import IO, Any

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FileFeedStorage

from thresher.crawler.spiders.feeds import FeedFiles


class DurableFile(FileFeedStorage):
    """A file that is written to disk whenever the feeds are synced."""

    feeds: FeedFiles

    @classmethod
    def from_crawler(
        cls, crawler: Crawler, uri: str, *, feed_options: dict[str, Any] | None = None
    ) -> "DurableFile":
        """Return the storage for a crawler that has `feeds`."""
        storage = cls(uri, feed_options=feed_options)
        storage.feeds = crawler.feeds  # type: ignore[attr-defined]
        return storage

    def open(self, spider: Spider) -> IO[bytes]:
        """Open the file, and register it."""
        file = super().open(spider)
        self.feeds.add(file)
        return file

    def store(self, file: IO[bytes]) -> None:
        """Write the file to disk, and close it."""
        self.feeds.close_file(file)
