"""Look at what deduplication decided: `duplicate_report` shows its clusters, `dedup_audit` checks it with another
implementation (`reference_shingles`), and `stored_minhashes` opens the signatures as objects of datasketch.
"""
