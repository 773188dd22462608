"""Crawl workers whose parser does not come to an end of pages with the mark on them, or dies of them."""

import os
import signal
from unittest.mock import patch

from thresher.crawler.reading import page_reading
from thresher.extract.markup.links import extract_links

MARK = b"<!-- the mark -->"


def loop():
    while True:
        pass


def die():
    os.kill(os.getpid(), signal.SIGSEGV)


def hanging(work, *args):
    """What a worker does, whose parser hangs. The process in which it reads aside has the parser that there is."""
    _install_parser(loop)
    work(*args)


def dying(work, *args):
    """The same of one whose parser dies."""
    _install_parser(die)
    work(*args)


def _install_parser(end, found=extract_links):
    def links(html, url, codec):
        if MARK in html:
            end()
        return found(html, url, codec)

    patch.object(page_reading, "extract_links", links).start()
