"""Compare the tokens of texts in many languages with those of FineWeb-2's tokenizers, run by run.

usage: python bench/filters/parity_tokens.py TEXTS [--show LANGUAGE ...] [--theirs FILE]

TEXTS is a JSON lines file with `text` and `language` (`bench/filters/corpus.py --language CODE` makes one). --show
prints the runs of a language that differ, the most frequent first; --theirs reuses the output of an earlier run of the
peer. Prints one JSON line for each language, and one for all.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.peers import environments
from thresher.filters.tokens.english_tokens import ENGLISH
from thresher.filters.tokens.token_scheme import scheme_of
from thresher.filters.word_tokens import split_run


def main() -> None:
    """Compare, and print the lines."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("texts", type=Path)
    parser.add_argument("--show", nargs="*", default=[])
    parser.add_argument("--theirs", type=Path)
    args = parser.parse_args()
    runs, differing = Counter[str](), Counter[str]()
    differences: dict[str, list[tuple[int, str, list[str], list[str]]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as directory:
        theirs = args.theirs or Path(directory) / "theirs.jsonl"
        if not theirs.exists():
            command = environments.command("filters/split_runs.py", "datatrove-filters")
            subprocess.run([*command, str(args.texts), str(theirs)], check=True)
        with theirs.open(encoding="utf-8") as answers:
            for line in answers:
                language, run, count, tokens = json.loads(line)
                found = split_run(run, ENGLISH if language == "en" else scheme_of(language))
                runs.update({language: count, "all": count})
                if found != tokens:
                    differing.update({language: count, "all": count})
                    differences[language].append((count, run, tokens, found))
    for language in args.show:
        for count, run, tokens, found in sorted(differences[language], reverse=True):
            print(
                json.dumps({"times": count, "run": run, "theirs": tokens, "ours": found}, ensure_ascii=False)
            )
    for language, count in sorted(runs.items()):
        print(
            json.dumps(
                {
                    "language": language,
                    "runs": count,
                    "differ_of_10000": round(1e4 * differing[language] / count, 2),
                }
            )
        )


if __name__ == "__main__":
    main()
