"""Conversations as rows of a dataset: their chat template, their tokens, and the tokens that bear loss."""
