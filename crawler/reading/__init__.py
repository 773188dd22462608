"""From the answer of a page to outcome, links and rights. Pure. Entry point: `page_reading.read_page`.

`response` is what a server said, `outcome` what that means for the lease, `targets` where links lead, `listed`,
`sitemap` and `seedlist` what lists lead to, `conditional` what a server said about a copy that we have.
`request_state` is what a lease carries besides its URL.
"""
