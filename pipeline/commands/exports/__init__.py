"""The commands that write what is kept, for other programs."""
