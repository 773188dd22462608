"""Common Crawl: its files and single records of it, brought into our archive.

`layout` names its files. Whole ones are taken as they are. Of single records a `selection` is looked up in one of its two indexes
(`zipnum`, `columnar`), each of whose lines is a `row`; neighbours become one request (`reach`); what came is held against its row
(`member`) and appended to a file of ours behind what the index says of it (`facts`), and what was taken is remembered (`taken`).

All of it goes through `client`, which asks as often as `storage.s3.request_retry` allows and as much at a time as `window` says; `web` and
`bucket` are the two ways to reach it, `answer` says what their answers mean.
"""
