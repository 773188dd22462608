"""Archive files that stay where they are: the storage has their index and seal, and reads the bytes where they lie."""
