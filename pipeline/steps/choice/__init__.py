"""Which documents an export takes: those with a conversation, those of a mix, and how often each of them occurs."""
