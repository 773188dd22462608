"""The web console: what an operator sees of a project in a browser, and the JSON API underneath.

Every number comes from a read function that the pages and the API share (`live_console.Console` has all of them); every
action calls the function that the command line calls. Nothing here scans a frontier: `crawl_reader` asks questions of
bounded cost, `sampler` turns counters into rates, `host_survey` looks at some hosts at a time, and `slow_reading` keeps
what takes long to read from storage. `web` is the HTTP side. The entry point is `console_server.serve`.
"""
