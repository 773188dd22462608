"""Ingest data from elsewhere as sealed archive files. Entry points: `ingest.ingest`, `commoncrawl_input`."""
