"""A parser that dies of pages with the mark on them: imported by name in processes that read pages."""

import os
import signal
from unittest.mock import patch

import crawler.archive_filter
import crawler.robots.robots_txt
from crawler.reading import page_reading, sitemap
from extract.links import extract_links

MARK = b"<!-- the mark -->"


def die(*_):
    os.kill(os.getpid(), signal.SIGSEGV)


def links(html, url, codec, *, found=extract_links):
    """What looks for the links of a page, and dies of them."""
    if MARK in html:
        die()
    return found(html, url, codec)


def install_parser():
    patch.object(page_reading, "extract_links", links).start()
    patch.object(page_reading, "read_sitemap", read_sitemap).start()


def page_result(*args):
    """`crawler.archive_filter.page_result`, with that parser."""
    install_parser()
    return crawler.archive_filter.page_result(*args)


def page_settlement(*args, **options):
    """`crawler.reading.page_reading.page_settlement`, with that parser."""
    install_parser()
    return page_reading.page_settlement(*args, **options)


def raising(lease, found, **options):
    """`crawler.reading.page_reading.page_settlement`, which raises for a page with the mark on it."""
    return fail() if MARK in found.body else page_reading.page_settlement(lease, found, **options)


def meaning(lease, found, base, follows):
    """`crawler.robots.robots_txt.meaning`, which dies of a robots.txt with the mark on it."""
    return die() if MARK in found.payload else crawler.robots.robots_txt.meaning(lease, found, base, follows)


def read_sitemap(body, found=sitemap.read_sitemap):
    """What reads a sitemap, and dies of one with the mark on it."""
    return die() if MARK in body else found(body)


def robots_record(lease, record, follows):
    """What reads a robots.txt from the archive, and dies of it."""
    die()


class UnexpectedError(Exception):
    """What nobody thought of."""


def fail(*_, **__):
    """What raises, of whatever it reads."""
    raise UnexpectedError("of a page")
