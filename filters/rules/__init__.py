"""The published sets of rules, one module each, and the presets that combine them (`presets`)."""
