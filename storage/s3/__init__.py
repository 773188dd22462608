"""A `Store` in an S3-compatible server. Entry point: `s3_store.S3Store`.

`s3_client` sets up the client (boto3), and `connection` keeps it for a process, whose threads share it. `requests`
sends one request until it is answered or the policy of `storage.request_retry` ends. `in_flight` ends requests early
and runs work in threads; `http_connections` lets it reach their sockets. `put`, `read`, `listing` and `uploads` are the
operations on objects. `range_reads` reads hundreds of ranges at the same time, by the asynchronous client of
`async_client` (aioboto3). `s3_errors` says what replies mean, and `server_clock` gives ages by the server's clock.
Files that are made before they are sent lie in the spool (`storage.spool`). The Common Crawl client
(`storage.commoncrawl.transport`) uses the asynchronous client for its files in S3.
"""
