"""A parser that kills its process at a marked page. Processes that read pages import it by name."""

import os
import signal
from unittest.mock import patch

import thresher.crawler.lease_result
import thresher.crawler.reading.page_reading
import thresher.crawler.robots.robots_txt
from thresher.crawler.reading import page_reading, sitemap
from thresher.extract.markup.links import extract_links

MARK = b"<!-- the mark -->"


def die(*_):
    os.kill(os.getpid(), signal.SIGSEGV)


def links(html, url, codec, *, found=extract_links):
    """Find the links of a page; die at a marked one."""
    if MARK in html:
        die()
    return found(html, url, codec)


def install_parser():
    patch.object(page_reading, "extract_links", links).start()
    patch.object(page_reading, "read_sitemap", read_sitemap).start()


def read_and_decide(*args, **options):
    """`crawler.lease_result.read_and_decide`, with that parser."""
    install_parser()
    return thresher.crawler.lease_result.read_and_decide(*args, **options)


def page_settlement(*args, **options):
    """Do what `crawler.lease_result.page_settlement` does, with that parser."""
    install_parser()
    return thresher.crawler.lease_result.page_settlement(*args, **options)


def raising(lease, found, **options):
    """Do what `crawler.lease_result.page_settlement` does; raise for a marked page."""
    return (
        fail()
        if MARK in found.body
        else thresher.crawler.lease_result.page_settlement(lease, found, **options)
    )


def read_hop(lease, found, base, follows):
    """Do what `crawler.robots.robots_txt.read_hop` does; die at a marked robots.txt."""
    return (
        die()
        if MARK in found.payload
        else thresher.crawler.robots.robots_txt.read_hop(lease, found, base, follows)
    )


def read_sitemap(body, found=sitemap.read_sitemap):
    """Read a sitemap; die at a marked one."""
    return die() if MARK in body else found(body)


def robots_record(lease, record, follows):
    """Read a robots.txt from the archive; die."""
    die()


class UnexpectedError(Exception):
    """An exception that no code expects."""


def fail(*_, **__):
    """Raise, whatever the arguments are."""
    raise UnexpectedError("of a page")
