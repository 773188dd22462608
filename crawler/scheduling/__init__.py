"""Which lease is next. Entry point: `scheduler`. `poll` says when the frontier is asked, `slot_share` how many slots a
domain may hold.
"""
