"""Fetch bytes from Common Crawl, over HTTP (`http_source`) or from S3 (`s3_source`).

One client (`source_client`) retries failed requests and limits how many are in flight (`window`). `remote_file` gives a
seekable file.
"""
