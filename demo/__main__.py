"""`python -m demo`: run the whole pipeline offline on a small generated web, from a list of URLs to tokenized shards.

All output is in `demo-out`, which is created anew each time.
"""

import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

from tokenizers import ByteLevelBPETokenizer

from demo.web import RunningWeb, Web

OUT = Path("demo-out")
VOCABULARY = 4096
READ = """import pyarrow.parquet as pq; print(pq.read_table("shards/data").slice(0, 3))"""
"""Python code that reads the dataset."""
TAG = re.compile(rb"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL)
TOML = """\
# Written by the demo.
[project]
contact = "mailto:demo@example.org"

[crawler]
min_delay = 0.05                     # it is our own web
allow_networks = ["127.0.0.0/8"]     # and it is served on loopback

[filters]
preset = "fineweb"
languages = ["en", "de", "fr", "es"]
"""


def main() -> int:
    """Serve the web, run the job, and print the commands that the user can try next."""
    begun = time.monotonic()
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    (OUT / "thresher.toml").write_text(TOML)
    with Web().serve() as serving:
        print(
            f"A web of {len(serving.hosts)} hosts and {len(serving.expected.pages)} pages is up on loopback."
        )
        (OUT / "seeds.txt").write_text("\n".join(serving.seeds) + "\n")
        tokenizer = ByteLevelBPETokenizer()
        tokenizer.train_from_iterator(texts(serving), vocab_size=VOCABULARY, show_progress=False)
        tokenizer.save(str(OUT / "tokenizer.json"))
        print(f"A tokenizer of {VOCABULARY} tokens was trained on its text: {OUT / 'tokenizer.json'}\n")
        # With one worker the demo gives the same result every time: of two copies, the one fetched later is the
        # revisit.
        job = ["run", "seeds.txt", "--out", "shards", "--tokenizer", "tokenizer.json", "--scope", "host"]
        job += ["--workers", "1"]
        if code := thresher(*job):
            return code
    subprocess.run(
        [sys.executable, "-m", "thresher", "report", "--plot", "funnel.png"],
        cwd=OUT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    print(f"\nDone in {time.monotonic() - begun:.0f} s. What you could type next, in {OUT}/:\n")
    command = shlex.quote(str(Path(sys.executable).with_name("thresher")))
    for arguments, why in (
        ("status", "what every source has come to"),
        ("verify", "hash and read again everything that was stored"),
        ("verify shards", "the same for the dataset"),
        ("report --json", "the funnel, for programs (funnel.png is its picture)"),
        ("crawl main", "nothing is left to fetch: the frontier remembers"),
    ):
        print(f"  {command} {arguments:<16} # {why}")
    print(f"  {shlex.quote(sys.executable)} -c {shlex.quote(READ)}")
    return 0


def thresher(*arguments: str) -> int:
    """Print one command and run it in the directory of the demo; return its exit code."""
    print(f"$ thresher {shlex.join(arguments)}", flush=True)
    return subprocess.run([sys.executable, "-m", "thresher", *arguments], cwd=OUT, check=False).returncode


def texts(serving: RunningWeb) -> Iterator[str]:
    """Yield the text of each page without tags, which is enough to train a tokenizer."""
    for url in sorted(serving.expected.pages):
        with urlopen(url) as page:
            yield TAG.sub(b" ", page.read()).decode("utf-8", "replace")


if __name__ == "__main__":
    sys.exit(main())
