"""Read the facts that a page states about itself, each with its source.

`page_facts` collects them. `page_title`, `page_date` and `page_author` choose among the statements of a page, and
`json_ld` reads its schema.org nodes. A `Stated` is a fact and the place that states it.
"""
