"""The index of deduplication: what was decided about all documents so far, so that new ones cost their own share only.

The entry point is `index_update.update`. It finds the newest index of the same sources and settings (`index_state`),
passes the tables of signatures that came or went through the stages of `filters.dedup.changes` (`index_stages`, one
part a range of keys), and seals the next index: the runs of the earlier one (`index_runs`) and those that the change
added.
"""
