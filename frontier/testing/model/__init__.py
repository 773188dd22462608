"""The state of a `MemoryFrontier` and its rules, without clients. Entry point: `crawl_state.CrawlState`.

`entities` holds pages, hosts and origins. `circuit`, `turn` and `address_line` decide when a host or an address may be
asked. `settle_page` and `lease_reply` end a lease and describe one. `gate`, `heartbeats` `fleet_members` and
`robots_bodies` hold the crawl's back-pressure, its workers, its fleet and the texts of its robots.txt files.
"""
