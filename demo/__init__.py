"""A small web of our own, to see the whole of Thresher work where there is no other web.

`demo.web` writes it: four magazines (English, German, French, Spanish) from sentences in `banks/`, a junk host
that no filter should let through, and the manual pages of Python's own library. Six hosts, each on a loopback
address of its own, with everything that a crawler meets outside: robots.txt of every kind, redirects that
lead somewhere and redirects that do not, copies and near copies, charsets, chunks, boilerplate. What is true
of it is said beside it (`demo.site.Expected`), so that a test can hold a crawl against it. The same seed
writes the same web, byte for byte.

`demo.static` serves folders of real documentation in the same manner, and `demo.wire` is the HTTP under both.
"""
