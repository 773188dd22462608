"""Read the response to a request for a page: its outcome, links and rights. Pure. Entry point:
`page_reading.read_page`.

`page_response` is what a server said, `outcome` what that means for the lease, `sitemap` and `sitemap_discoveries` what
lists lead to, `conditional` what a server says about a page that we have. `redirect_chain` decides about redirects, and
`plausibility` about results of a process that may not be trusted.
"""
