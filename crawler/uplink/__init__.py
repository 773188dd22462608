"""A worker's way to the web: the client and what is done when our own side fails (`uplink`, `blame`), and the delay
of IP addresses (`address_limiter`).
"""
