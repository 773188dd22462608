"""Models that classify a text: `language` recognises its language."""
