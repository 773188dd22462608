"""`Agreement`: how far the verdicts of a rule are those of a peer over the same documents. For benches of parity."""

import argparse
import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.peers import environments
from bench.peers.filters.text_digest import text_digest
from thresher.filters.models.language import LanguagePrediction

ENGLISH = LanguagePrediction(code="en", score=1.0)


@dataclass
class Agreement:
    """What was compared of a rule."""

    documents: int = 0
    both_keep: int = 0
    agree: int = 0
    same_text: int = 0
    causes: Counter[str] = field(default_factory=Counter)

    def figures(self) -> dict[str, Any]:
        """Return what a line says of the rule: shares of documents, and of the texts that both keep."""
        return {
            "documents": self.documents,
            "agreement": round(self.agree / self.documents, 5),
            "both_keep": self.both_keep,
            "same_text": round(self.same_text / max(self.both_keep, 1), 5),
            "differences": dict(self.causes.most_common()),
        }


def note(each: Agreement, ours: str, theirs: str, hashed: str | None, edited: str) -> bool:
    """Count one verdict, and return whether the verdicts and the texts are the same. `ours` and `theirs` are reasons
    of a drop, or empty. `hashed` is the digest of the peer's text, None if the rule edits none."""
    each.documents += 1
    if bool(ours) != bool(theirs):
        each.causes[f"only theirs: {theirs}" if theirs else f"only ours: {ours}"] += 1
        return False
    each.agree += 1
    if ours:
        return True
    each.both_keep += 1
    same = hashed is None or text_digest(edited) == hashed
    each.same_text += same
    if not same:
        each.causes["text differs"] += 1
    return same


def arguments(description: str | None, *, checkout: bool = False) -> argparse.Namespace:
    """Read the arguments that the benches share; `checkout` is the working tree of a peer that is no package."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if checkout:
        parser.add_argument("checkout", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--show", nargs="*", default=[])
    parser.add_argument("--theirs", type=Path)
    return parser.parse_args()


@contextmanager
def verdicts_of_peer(
    args: argparse.Namespace, script: str, requirements: str
) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Give the file of the peer's verdicts, and the line that the peer printed; no line if the file is an earlier one.

    The peer's script gets the checkout if there is one, the texts, and the file. Its line is printed.
    """
    with tempfile.TemporaryDirectory() as directory:
        theirs = args.theirs or Path(directory) / "theirs.jsonl"
        line = {}
        if not theirs.exists():
            inputs = [str(path) for name in ("checkout", "texts") if (path := getattr(args, name, None))]
            command = [*environments.command(script, requirements), *inputs, str(theirs)]
            line = json.loads(subprocess.check_output(command, text=True).splitlines()[-1])
            print(json.dumps(line), flush=True)
        yield theirs, line


def pairs(texts: Path, theirs: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each document with the peer's verdicts on it."""
    with texts.open(encoding="utf-8") as ours_file, theirs.open(encoding="utf-8") as theirs_file:
        for ours, answer in zip(ours_file, theirs_file, strict=True):
            yield json.loads(ours), json.loads(answer)
