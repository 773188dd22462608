"""`thresher qa`: an archive that is replayed offline in Chromium, and compared with what its crawl recorded.

`wacz_lines` reads what a WACZ lists, `wacz_archive` answers look-ups as a player does, `replay_tab` opens a page with
these answers alone, `examiner` reads texts and compares pictures in the browser's own walls, `comparison` decides
(pure), `examination` goes through the pages, and `run_qa` is the command.
"""
