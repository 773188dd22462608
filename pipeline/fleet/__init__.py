"""The workers of a crawl. The entry points are `crawl_command.crawl`, which supervises workers until the frontier
drains, and `fleet_command.start_fleet`, which keeps a fleet at work.

A fleet's `controller` observes, asks `fleet_plan` what to do, and does it. Its members run on this machine
(`local_members`) or on a Ray cluster (`ray_members`); a `member_host` runs one of them, and `crawl_call` and
`member_call` are what its process does. `liveness` and `frontier_upkeep` recover the work of dead workers.
"""
