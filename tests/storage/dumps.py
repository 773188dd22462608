"""Dumps as MediaWiki and Stack Exchange write them, made small."""

import bz2
import gzip
import io
from collections.abc import Callable
from functools import partial
from html import escape

import zstandard

from thresher.storage.inputs.entry import UnusableRecord
from thresher.storage.inputs.input_kinds import InputKind, read_items

ENDS = ("broken_xml", "cut_off", "broken_compression")
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "bzip2": bz2.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
}


def read(reader, data, name, first=0, **options):
    """What is brought in of a file, packed or not."""
    kind = InputKind(name="dump@1", read=partial(reader, **options))
    return list(read_items(io.BytesIO(data), name, kind, first))


def without_end(found):
    """What is in front of the damage."""
    while found and isinstance(found[-1], UnusableRecord) and found[-1].reason in ENDS:
        found = found[:-1]
    return found


def head(base="https://en.wikipedia.org/wiki/Main_Page", language="en", version="0.11"):
    return (
        f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-{version}/" version="{version}" '
        f'xml:lang="{language}">\n  <siteinfo>\n    <sitename>Wikipedia</sitename>\n    <dbname>enwiki</dbname>\n'
        f"    <base>{base}</base>\n    <generator>MediaWiki 1.43.0</generator>\n    <case>first-letter</case>\n"
        '    <namespaces>\n      <namespace key="0" case="first-letter" />\n'
        '      <namespace key="10" case="first-letter">Template</namespace>\n    </namespaces>\n  </siteinfo>\n'
    )


def revision(text, *, id_=7, timestamp="2026-01-02T03:04:05Z", model="wikitext", attributes=""):
    return (
        f"    <revision>\n      <id>{id_}</id>\n      <timestamp>{timestamp}</timestamp>\n"
        f"      <contributor>\n        <username>Somebody</username>\n        <id>3</id>\n      </contributor>\n"
        f"      <comment>better</comment>\n      <model>{model}</model>\n      <format>text/x-wiki</format>\n"
        f'      <text bytes="{len(text)}" sha1="x" xml:space="preserve"{attributes}>{escape(text, quote=False)}</text>\n'
        "      <sha1>x</sha1>\n    </revision>\n"
    )


def page(title, *revisions, id_=5, ns=0, redirect=None):
    target = f'    <redirect title="{redirect}" />\n' if redirect else ""
    return (
        f"  <page>\n    <title>{escape(title)}</title>\n    <ns>{ns}</ns>\n    <id>{id_}</id>\n{target}"
        f"{''.join(revisions)}  </page>\n"
    )


def wiki(*pages, **options):
    return (head(**options) + "".join(pages) + "</mediawiki>\n").encode()


def row(id_, kind=1, *, body="<p>Why?</p>", created="2020-05-06T07:08:09.123", **attributes):
    said = {"Id": id_, "PostTypeId": kind, "CreationDate": created, "Score": 0, "Body": body, **attributes}
    written = " ".join(f'{name}="{escape(str(value))}"' for name, value in said.items())
    return f"  <row {written} />\r\n"


def posts(*rows):
    return (
        '\ufeff<?xml version="1.0" encoding="utf-8"?>\r\n<posts>\r\n' + "".join(rows) + "</posts>"
    ).encode()
