"""The log of a crawl: one line for everything that it settled (`log_line`). `log_writer` writes it, `log_reader` reads
it in the order of time, and `newest` finds the newest capture of a page in it.
"""
