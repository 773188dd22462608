"""What was made elsewhere becomes sealed archive files. Entry points: `ingest.ingest`, `commoncrawl_input`."""
