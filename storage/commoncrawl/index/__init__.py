"""The indexes of Common Crawl: which records there are (`row`), of a domain or prefix (`span`), that a user selects
(`selection`), in the CDX index (`zipnum`) or the columnar one (`columnar`), fetched by ranges (`reach`).
"""
