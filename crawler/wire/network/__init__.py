"""From a host name to a connection: `dns`, `guard` and `address` (what may be requested), `proxy`, `dial`, `tls`. The
`probes` find out whose fault a silence is.
"""
