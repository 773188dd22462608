"""Pages that only a browser can read.

A page with little text that its scripts would complete (`render_need`) is opened in Chromium (`chromium`, `tab`). The
browser's requests never reach the network: the crawler's own client fetches what the page may request
(`crawler.subresources`), so that guard, politeness, limits and archive are the same as for every other page. The result
is a value (`crawler.reading.rendered_page`): the DOM, the exchanges, and a report. A worker uses all this through
`renderer`.

Rendering needs Playwright (the extra `render`) and Chromium; without them everything but `chromium.browser`, `tab` and
`renderer` can be imported.
"""
