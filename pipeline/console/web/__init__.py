"""The console over HTTP: pages, the JSON API, and what keeps strangers out.

`console_app.create_app` is the entry point. `access` says who a client is, `request_guard` refuses what no page of ours
sends, `pages` and `api_routes` answer, `archived_page` shows what a stranger wrote so that none of it runs.
"""
