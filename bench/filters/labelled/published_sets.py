"""Readers of labelled sets that others published: texts with whether they are toxic, and texts with personal data."""

import csv
import json
import sys
from pathlib import Path

csv.field_size_limit(sys.maxsize)

_TOXIC = {
    # Davidson et al. 2017 (arXiv:1703.04009), data/labeled_data.csv: hate speech 0, offensive 1, neither 2
    "tweet": ("class", frozenset("01")),
    # Jigsaw's comments on Wikipedia, toxicity_nonfuzzed_testset.csv
    "comment": ("toxic", frozenset({"True"})),
    # HateCheck (Röttger et al. 2021, arXiv:2012.15606), test_suite_cases.csv
    "test_case": ("label_gold", frozenset({"hateful"})),
}
"""For each set, by the name of its column of texts: the column of labels, and the labels that mean toxic."""

_KINDS = {
    "EMAIL_ADDRESS": "email",
    "IP_ADDRESS": "ip",
    "PHONE_NUMBER": "phone",
    "CREDIT_CARD": "card",
    "IBAN_CODE": "iban",
}
"""Kinds of personal data that Presidio's sets and we have in common."""


def toxic_texts(path: Path) -> list[tuple[str, bool]]:
    """Return the texts of a CSV file of one of the three sets, each with whether it is labelled toxic."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    text_column = next(column for column in _TOXIC if column in rows[0])
    label_column, toxic = _TOXIC[text_column]
    return [(row[text_column], row[label_column] in toxic) for row in rows]


def personal_data(path: Path) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    """Return the texts of a JSON file of presidio-research, each with kinds and characters of its personal data."""
    return [
        (
            row["full_text"],
            tuple(
                (_KINDS[span["entity_type"]], span["entity_value"])
                for span in row["spans"]
                if span["entity_type"] in _KINDS
            ),
        )
        for row in json.loads(path.read_text(encoding="utf-8"))
    ]
