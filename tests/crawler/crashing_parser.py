"""A parser that dies of pages with the mark on them: imported by name in processes that read pages."""

import os
import signal

import crawler.archive_filter
import crawler.reading.page_reading

MARK = b"<!-- the mark -->"


def die(*_):
    os.kill(os.getpid(), signal.SIGSEGV)


def links(html, url, codec, *, found=crawler.reading.page_reading.extract_links):
    """What looks for the links of a page, and dies of them."""
    if MARK in html:
        die()
    return found(html, url, codec)


def infect():
    crawler.reading.page_reading.extract_links = links


def end(*args):
    """`crawler.archive_filter.end`, with that parser."""
    infect()
    return crawler.archive_filter.end(*args)


def settlement(*args, **options):
    """`crawler.reading.page_reading.settlement`, with that parser."""
    infect()
    return crawler.reading.page_reading.settlement(*args, **options)


def raising(lease, found, **options):
    """`crawler.reading.page_reading.settlement`, which raises for a page with the mark on it."""
    return fail() if MARK in found.body else crawler.reading.page_reading.settlement(lease, found, **options)


class Unforeseen(Exception):
    """What nobody thought of."""


def fail(*_, **__):
    """What raises, of whatever it reads."""
    raise Unforeseen("of a page")
