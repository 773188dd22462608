"""Which lease is next. Entry point: `scheduler`. `lease_queue` knows which leases are open and which have a result,
`slot_share` how many slots a domain may hold.
"""
