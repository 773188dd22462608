"""Sessions: crawl pages that only somebody sees who has logged in.

1. A `profile` is what a browser keeps of a login: cookies, local storage, the user agent and the proxy. The command
   `thresher login` makes it (`browser_login`), or takes it from a file. It lies encrypted in the project's directory
   (`profile_file`), apart from storage, under a key that lies elsewhere (`profile_key`).
2. The configuration names a host, the profiles for it, and the crawls that use them (`session_settings`). Every other
   crawl, and every request to another host, has no session.
3. A worker opens the profiles (`session_pool`). All requests under one profile carry its cookies, its user agent and
   its proxy, and no other (`crawler.wire.session`). The cookies that the host sets stay in the worker's memory.
4. A login that ended (`login_end`) pauses its host: its page goes back to the frontier, and no login page is archived.
5. Nothing of a profile is archived (`crawler.wire.redaction`), logged, or passed to a process that reads pages, except
   to the browser that renders a page of the profile's host.
"""
