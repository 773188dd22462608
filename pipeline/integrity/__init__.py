"""Checks that everything stored is intact. The entry point is `verify.verify_storage`."""
