"""`python -m demo`: run the whole pipeline offline on a small generated web, from a list of URLs to tokenized shards.

All output is in `demo-out`, which is created anew each time.
"""

import argparse
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

from demo.result import differences, load_expected, read_result, save_expected
from demo.web import RunningWeb, Web

OUT = Path("demo-out")
VOCABULARY = 4096
READ = """import pyarrow.parquet as pq; print(pq.read_table("demo-out/shards/data").slice(0, 3))"""
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

[dedup]
prefer = ["longest"]                 # and not the newest, because a demo may run at midnight
"""
REMEDY = """\
Other versions of packages than those of requirements.lock, or a change of the code, can be the cause. If you meant the
change, `python -m demo --accept` makes this result the expected one. If you changed nothing, this is a bug: please
report these lines, with `python --version` and the name of your system."""


def main() -> int:
    """Serve the web, run the job, compare its result with the expected one, and print what the user can type next."""
    parser = argparse.ArgumentParser(
        prog="python -m demo", description="The whole job on a small web, offline."
    )
    parser.add_argument("--accept", action="store_true", help="expect from now on what this run ends in")
    is_accepted = parser.parse_args().accept
    begun = time.monotonic()
    shutil.rmtree(OUT, ignore_errors=True)
    try:
        OUT.mkdir()
    except OSError as error:
        sys.exit(
            f"demo: cannot make {OUT.absolute()} ({error.strerror}); run it in a checkout that you may write to"
        )
    (OUT / "thresher.toml").write_text(TOML, "utf-8")
    with Web().serve() as serving:
        print(
            f"A web of {len(serving.hosts)} hosts and {len(serving.expected.pages)} pages is up on loopback."
        )
        (OUT / "seeds.txt").write_text("\n".join(serving.seeds) + "\n", "utf-8")
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
        result = read_result(OUT)
        hosts = serving.hosts
    if is_accepted:
        save_expected(result)
    if lines := list(
        differences(load_expected(), result, command=f"{command()} --project {OUT}", hosts=hosts)
    ):
        print("\nThe demo did not end as it does on every Python that README names:\n")
        print("\n".join(f"  {line}" for line in lines))
        print(f"\n{REMEDY}")
        return 1
    print(f"documents: sha256 {result.digest}, as on every Python")
    subprocess.run(
        [sys.executable, "-m", "thresher", "report", "--plot", "funnel.png"],
        cwd=OUT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    print(f"\nDone in {time.monotonic() - begun:.0f} s. Type this first, and open the page that it names:\n")
    print(f"  {command()} serve --project {OUT}")
    print("\nThen, for example:\n")
    for arguments, why in (
        ("status", "what every source has come to"),
        ("verify", "hash and read again everything that was stored"),
        (f"verify {OUT}/shards", "the same for the dataset"),
        ("report --json", f"the funnel, for programs ({OUT}/funnel.png is its picture)"),
        ("crawl main", "nothing is left to fetch: the frontier remembers"),
    ):
        print(f"  {command()} {f'{arguments} --project {OUT}':<42} # {why}")
    print(f"  {_relative(Path(sys.executable))} -c {shlex.quote(READ)}")
    return 0


def thresher(*arguments: str) -> int:
    """Print one command and run it in the directory of the demo; return its exit code."""
    print(f"$ thresher {shlex.join(arguments)}", flush=True)
    return subprocess.run([sys.executable, "-m", "thresher", *arguments], cwd=OUT, check=False).returncode


def command() -> str:
    """Return `thresher` as the user types it in this directory."""
    return _relative(Path(sys.executable).with_name("thresher"))


def _relative(program: Path) -> str:
    """Return the shortest path of a program, quoted for the shell."""
    here = Path.cwd()
    return shlex.quote(str(program.relative_to(here) if program.is_relative_to(here) else program))


def texts(serving: RunningWeb) -> Iterator[str]:
    """Yield the text of each page without tags, which is enough to train a tokenizer."""
    for url in sorted(serving.expected.pages):
        with urlopen(url) as page:
            yield TAG.sub(b" ", page.read()).decode("utf-8", "replace")


if __name__ == "__main__":
    sys.exit(main())
