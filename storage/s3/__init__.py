"""A `Store` in an S3-compatible server. Entry point: `s3_store.S3Store`.

`s3_client` sets up the asynchronous client, `loop_thread` runs it in a thread of its own, and `connection` keeps both
for a process. `requests` sends one request until it is answered or the policy of `request_retry` ends. `put`, `read`,
`listing` and `uploads` are the operations on objects. `s3_errors` says what replies mean, `server_clock` gives ages by
the server's clock, and `spool` holds the files that are made before they are sent. The Common Crawl client
(`storage.commoncrawl.transport`) shares client, loop, retry pauses and errors.
"""
