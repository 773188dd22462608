"""Split a large table into slices, and write an archive file of each, in any number of processes."""
