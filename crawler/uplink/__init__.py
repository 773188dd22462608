"""A worker's way to the web: `uplink` (the client, and what happens when our own side fails), `failure_attribution`,
and `address_limiter` (the delay of IP addresses).
"""
