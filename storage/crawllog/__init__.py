"""The log of a crawl: one line for everything that it settled (`log_line`), written (`log_writer`), read in the order of
time (`log_reader`), and asked for the newest capture of a page (`newest`).
"""
