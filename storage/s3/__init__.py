"""A `Store` in an S3-compatible server: `bucket.Bucket`, and what it is made of.

`connection` keeps the client in a thread of its own; `requests` sends one request until it is answered, as `patience`
allows; `put`, `read`, `listing` and `uploads` are what is asked of the server; `errors` says what its answers mean;
`spool` is where files are made before they are sent.
"""
