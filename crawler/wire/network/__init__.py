"""From a host name to a connection: `dns`, `guard` and `address` (what may be asked), `proxy`, `dial`, `tls`; `probes` find out
whose fault a silence is.
"""
