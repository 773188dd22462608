"""One exchange over HTTP/1.1 or HTTP/2: `request`, `http1`, `http2`, `response_reader`, `message`, kept open in `pool`."""
