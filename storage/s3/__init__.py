"""A `Store` in an S3-compatible server. Entry point: `s3_store.S3Store`.

`s3_client` sets up the client (boto3), and `connection` keeps it for a process, whose threads share it. `requests`
sends one request until it is answered or the policy of `request_retry` ends. `in_flight` ends requests early and runs
work in threads; `http_connections` lets it reach their sockets. `put`, `read`, `listing` and `uploads` are the
operations on objects. `s3_errors` says what replies mean, `server_clock` gives ages by the server's clock, and `spool`
holds the files that are made before they are sent. The Common Crawl client (`storage.commoncrawl.transport`) shares
client, jobs, retry pauses and errors.
"""
