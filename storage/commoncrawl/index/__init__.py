"""Look up records in the indexes of Common Crawl.

A user selects records (`selection`) of domains or URL prefixes, which are spans of the sorted index (`span`). The rows
(`row`) of these spans come from the CDX index (`zipnum`) or the columnar index (`columnar`). `range_read` plans the
reads that fetch their records.
"""
