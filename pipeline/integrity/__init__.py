"""Whether everything stored is whole. Entry point: `verify.verify_storage`."""
