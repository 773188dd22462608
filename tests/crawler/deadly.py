"""A parser that dies of pages with the mark on them: imported by name in processes that read pages."""

import os
import signal

import crawler.page
import crawler.robots
import crawler.screen

MARK = b"<!-- the mark -->"


def die(*_):
    os.kill(os.getpid(), signal.SIGSEGV)


def links(html, url, codec, *, found=crawler.page.links):
    """What looks for the links of a page, and dies of them."""
    if MARK in html:
        die()
    return found(html, url, codec)


def infect():
    crawler.page.links = links
    crawler.page.listing = listing


def end(*args):
    """`crawler.screen.end`, with that parser."""
    infect()
    return crawler.screen.end(*args)


def settlement(*args, **options):
    """`crawler.page.settlement`, with that parser."""
    infect()
    return crawler.page.settlement(*args, **options)


def raising(lease, found, **options):
    """`crawler.page.settlement`, which raises for a page with the mark on it."""
    return fail() if MARK in found.body else crawler.page.settlement(lease, found, **options)


def meaning(lease, found, base, follows):
    """`crawler.robots.meaning`, which dies of a robots.txt with the mark on it."""
    return die() if MARK in found.payload else crawler.robots.meaning(lease, found, base, follows)


def listing(body, found=crawler.page.listing):
    """What reads a sitemap, and dies of one with the mark on it."""
    return die() if MARK in body else found(body)


def robots_record(lease, record, follows):
    """What reads a robots.txt from the archive, and dies of it."""
    die()


class Unforeseen(Exception):
    """What nobody thought of."""


def fail(*_, **__):
    """What raises, of whatever it reads."""
    raise Unforeseen("of a page")
