"""How bytes of Common Crawl are fetched: over HTTP (`http_source`) or from S3 (`s3_source`), by one client with
patience (`source_client`, `window`), as whole files or seekable ones (`remote_file`).
"""
