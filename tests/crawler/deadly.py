"""A parser that dies of pages with the mark on them: imported by name in processes that read pages."""

import os
import signal

import crawler.page
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


class Unforeseen(Exception):
    """What nobody thought of."""


def fail(*_, **__):
    """What raises, of whatever it reads."""
    raise Unforeseen("of a page")
