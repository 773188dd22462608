"""The file formats of shards, one module each. `registry` has all of them by name."""
