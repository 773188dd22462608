"""One exchange over HTTP/1.1 or HTTP/2: `request`, `http1`, `http2`, `response_reader` and `message`; `pool` keeps
connections.
"""
