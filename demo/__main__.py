"""`python -m demo`: the main job on a small web made here, offline, from a list of URLs to tokenized shards.

Everything it makes lies in `demo-out`, which is made anew each time.
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
"""What reads the dataset, as Python."""
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
    """Serve the web, run the job, and say what can be typed next."""
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
        # One worker, so that the demo ends the same every time: which copy of a page is the revisit depends on who comes first.
        job = ["run", "seeds.txt", "--out", "shards", "--tokenizer", "tokenizer.json", "--scope", "host"]
        job += ["--workers", "1"]
        if code := thresher(*job):
            return code
    subprocess.run(
        [sys.executable, "-m", "pipeline", "report", "--plot", "funnel.png"],
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
    """Type one command in the demo's directory."""
    print(f"$ thresher {shlex.join(arguments)}", flush=True)
    return subprocess.run([sys.executable, "-m", "pipeline", *arguments], cwd=OUT, check=False).returncode


def texts(serving: RunningWeb) -> Iterator[str]:
    """What the pages say, tags taken out: good enough to train a tokenizer on."""
    for url in sorted(serving.expected.pages):
        with urlopen(url) as page:
            yield TAG.sub(b" ", page.read()).decode("utf-8", "replace")


if __name__ == "__main__":
    sys.exit(main())
