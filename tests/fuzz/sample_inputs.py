"""Inputs of readers to begin with, and what decides how a reader goes on."""

from thresher.frontier import Discovery, Scope, canonicalize
from thresher.frontier.codec.entries import encode_entry as entry_of
from thresher.frontier.request_state import RequestState

HTTP = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nTransfer-Encoding: chunked\r\nSet-Cookie: a=b; Max-Age=9; Path=/\r\n"
    b"Retry-After: 120\r\nX-Robots-Tag: unavailable_after: 25 Jun 2030 15:00:00 GMT\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
)
PAGE = (
    b'<!doctype html><html lang="en"><head><title>A &amp; B</title><meta charset="utf-8"><meta http-equiv="refresh" content="5; url=/x">'
    b'<base href="/d/"><link rel="canonical" href="http://a.test/"><script type="application/ld+json">{"@type":"Article","author":'
    b'{"name":"A"},"datePublished":"2020-01-02"}</script><style>p{}</style></head><body><nav><ul><li><a href="/1">one</a></ul></nav>'
    b"<article><h1>A &#66;</h1><p>Rivers run to the sea, and all of them are long, wide, and full of water.<br>More of it.</p><table><tr><td>1"
    b'<td>2</table><pre><code>x = 1</code></pre><!-- c --><img alt="x"><math><mi>x</mi></math><template><a href=t></template></article>'
    b"<footer>Copyright 2020</footer></body></html>"
)
WIKI = (
    b"{{Infobox|a=b|c={{nested|1|2=x}}}}\n'''Bold''' and ''it'' [[Link|text]] [http://x.test y] <ref name=a>{{cite|title=x}}</ref>\n== H ==\n* a\n** b\n"
    b"{| class=wikitable\n! h\n|-\n| a || b\n|}\n<math>x^2</math><nowiki>[[</nowiki> -{zh:x;zh-tw:y}- {{convert|1|km}} &nbsp;&#160;\n#REDIRECT [[x]]\n"
    b"<pre>x</pre><!-- c --><poem>a\nb</poem><gallery>\nFile:a.jpg|x\n</gallery>__TOC__"
)
PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R"
    b"/MediaBox[0 0 300 300]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj\n4 0 obj<</Length 60>>stream\nBT /F1 12 Tf 20 200 Td (Rivers run to"
    b" the sea.) Tj ET\nendstream endobj\n5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n6 0 obj<</Title(A)/CreationDate(D:20200102)>>endobj\n"
    b"trailer<</Root 1 0 R/Info 6 0 R/Size 7>>\n%%EOF"
)
WARC = (
    b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000001>\r\nWARC-Date: 2020-01-02T03:04:05Z\r\n"
    b"WARC-Target-URI: http://a.test/\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: 67\r\n\r\n"
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi\r\n\r\n\r\n"
)
RESP = (
    b"*3\r\n*1\r\n*10\r\n$1\r\n7\r\n+page\r\n:1600000000000\r\n:1\r\n:0\r\n:0\r\n$6\r\na.test\r\n$2\r\n/x\r\n$0\r\n\r\n:0\r\n:-1\r\n$-1\r\n-ERR x\r\n"
    b"$44\r\nrole:master\r\nslave0:ip=127.0.0.1,lag=1,x=y\r\nz\r\n:1\r\n$11\r\nrole:master\r\n+PONG\r\n:0\r\n"
)
RESP3 = b"%1\r\n+a\r\n,1.5\r\n~2\r\n:1\r\n_\r\n" + RESP
RESP_TOKENS = (
    *(bytes((kind,)) for kind in b"*$+-:_#,(!=%~>|"),
    *(
        b"\r\n",
        b"*1\r\n",
        b"%1\r\n*0\r\n",
        b"*100000\r\n",
        b"$9999999999\r\n",
        b"-MOVED 1 a.test:1\r\n",
        b"-ASK x\r\n",
    ),
)
ROBOTS = b"User-agent: *\nDisallow: /a*b$\nAllow: /%7Ea\nCrawl-delay: 1.5\nRequest-rate: 1/5m\nSitemap: http://a.test/s.xml\n\nUser-agent: thresher\nDisallow: /x\n"
SITEMAP = (
    b'<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://a.test/&amp;&#65;</loc>'
    b"<lastmod>2020-01-02T03:04:05+01:00</lastmod></url><url><loc><![CDATA[http://a.test/2]]></loc></url></urlset>"
)
FEED = b'<rss><channel><item><link>http://a.test/</link><pubDate>Mon, 06 Sep 2021 00:01:00 +0000</pubDate></item></channel></rss><feed><entry><link href="http://a.test/3"/></entry></feed>'
ROWS = b'{"text": "a text", "url": "http://a.test/", "id": 1, "date": "2020-01-02"}\n{"html": "<p>x", "timestamp": 1600000000}\n'
MARKUP = (
    *(
        b"<",
        b">",
        b"</",
        b"<!--",
        b"-->",
        b"<![CDATA[",
        b'"',
        b"'",
        b"=",
        b"&",
        b"&#",
        b"&#x",
        b"&amp;",
        b";",
        b"<a href=",
        b"<p>",
        b"<div>",
    ),
    *(
        b"<table>",
        b"<tr><td>",
        b"<ul><li>",
        b"<pre>",
        b"<script>",
        b"</script>",
        b"<template>",
        b"<svg>",
        b"<title>",
        b"<meta ",
        b"<br>",
        b"<math ",
    ),
    *(b"<select>", b"<iframe>", b"<noscript>", b"<h1>", b"<b>", b"</b>", b"<i>", b"http://", b"display:none"),
)
XML = (
    b"<page>",
    b"</page>",
    b"<text>",
    b"<row ",
    b"/>",
    b"<revision>",
    b"<title>",
    b"<!DOCTYPE x>",
    b"&lt;",
    b"&#0;",
    b"<ns>",
    b'Id="1"',
)


def replies() -> tuple[bytes, ...]:
    urls = [
        canonicalize(text)
        for text in ("http://a.test/", "https://a.test:8443/a/b?c=%C3%A9&d", "http://a.test/x#y")
    ]
    entries = [
        entry_of(
            Discovery(
                url=url,
                scope=Scope.of("domain", url),
                depth=300,
                max_depth=9,
                state=RequestState(etag="etag"),
                referrer="http://b.test/",
            ),
            7,
        )
        for url in urls
    ]
    texts = (b"failed", b"dead_dns", b"a.test")
    settled = bytes(6) + bytes(map(len, texts)) + b"".join(texts)
    return (*entries, *(settled + entry for entry in entries))


def dumps() -> tuple[bytes, bytes]:
    from tests.storage import dumps as made

    return (
        made.wiki(made.page("A", made.revision(WIKI.decode()))),
        made.posts(made.row(1), made.row(2, 2, ParentId="1")),
    )
