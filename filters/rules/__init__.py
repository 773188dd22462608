"""The published rule sets, a module each, and the named lists of rules that use them (`presets`)."""
