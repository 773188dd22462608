"""Extract the text of pages with another library in place of our own extraction (`extract.engine` in thresher.toml).

`page_engine` says which engines there are and loads one; `trafilatura_engine` and `resiliparse_engine` are the
libraries, each with the options of the recipe that made it known. Only the process that uses a library imports it.
"""
