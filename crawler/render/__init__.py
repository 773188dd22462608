"""Pages that only a browser can read.

A page that says little without its scripts (`need`) is opened in Chromium (`browser`, `tab`), whose requests never reach
the network: what the page may ask for (`rules`) is fetched by the crawler's own client (`parts`, `kept`), so that guard,
politeness, limits and archive are the same as for everything else. What comes of it is a value (`rendered`): the DOM, the
exchanges, and a note. `renderer` is what a worker has of all this.

Needs Playwright (the extra `render`) and Chromium; without them everything but `browser`, `tab` and `renderer`
can be imported.
"""
