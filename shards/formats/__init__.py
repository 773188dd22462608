"""The file formats of shards, one module each."""
