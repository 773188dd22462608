"""Signals of a text that no published rule set has: personal data, licences, classifiers, benchmarks."""
