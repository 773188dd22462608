"""Inputs made elsewhere, read record by record: tables, texts, tars and dumps.

A reader turns an opened input into `Entry`s, each of which becomes one WARC record when it is brought in: from then on
it is read, processed, traced and forgotten like a page that we fetched ourselves.
"""
