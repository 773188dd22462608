"""A small generated web, with which all of Thresher can be tried offline.

`demo.web` generates it from the words and sentences in `banks/`: four magazines (English, German, French, Spanish), a
junk host whose pages no filter should keep, and the manual of a library that does not exist. The six hosts, each on a
loopback address of its own, have everything that a crawler meets on the real web: robots.txt of every kind, redirects
that end and redirects that do not, copies and near copies, charsets, chunks, boilerplate. `demo.site.Expected` holds
the facts about the web, so that a test can compare a crawl with them. The same seed gives the same web, byte for byte,
on every Python. `demo.result` compares what the demo ends in with what it must end in.

`demo.static` serves folders of real documentation in the same way, and `demo.wire` is the HTTP server of both.
"""
