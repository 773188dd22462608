"""A worker's access to the web. Entry point: `uplink.Uplink`, the client that notices when our own side fails.

`failure_attribution` decides whether the host or our own side is to blame. `address_limiter` waits for the turn of an
IP address.
"""
