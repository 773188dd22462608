"""What confinement costs: commands of two checkouts take turns, round by round, so both meet the same machine.

usage: python bench/pipeline/confinement.py --against DIRECTORY [--input FILE] [--pages N] [--rendered N] [--parts N]
       [--heavy N] [--rounds N] [--workers N]

`process` is measured if a file is named: any input of some thousand pages that `thresher ingest` takes. `crawl` fetches
`--pages` pages of a server on loopback; every `--heavy`th has 600 kB and is read in the process for heavy pages.
`render` opens `--rendered` pages in Chromium, each of which requests `--parts` parts. CPU is user + system time of a
command and of every process that it started, browsers and servers included, but without the web server. Prints one JSON
line per command: medians of the rounds, and the ratios of this checkout to the other.
"""

import argparse
import ctypes
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parents[2]
PR_SET_CHILD_SUBREAPER = 36
"""Option of prctl(2): orphaned processes become our children, so their CPU time is counted (`linux/prctl.h`)."""
PROGRAM = """import sys
from thresher.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
"""
SYLLABLES = (
    "ba",
    "ke",
    "li",
    "mo",
    "nu",
    "pra",
    "ste",
    "tri",
    "vol",
    "wex",
    "yar",
    "zim",
    "cho",
    "dra",
    "fen",
    "gol",
    "hup",
    "jat",
)
WORDS = 15
"""Words of a sentence, which is about 110 bytes long."""
SCRIPT = """<div id=root></div><script>
for (let part = 0; part < {parts}; part++)
    fetch(`/part${{part}}${{location.pathname}}`).then(answer => answer.text());
for (const text of {texts}) {{
    const p = document.createElement('p'); p.textContent = text; document.getElementById('root').append(p)
}}
</script>"""


def main() -> None:
    """Measure, and print the lines."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", type=Path, required=True, help="checkout to compare with")
    parser.add_argument(
        "--input", type=Path, help="measure `process` with this file; not measured by default"
    )
    parser.add_argument("--pages", type=int, default=2000, help="crawl N pages; 0 does not measure `crawl`")
    parser.add_argument(
        "--rendered", type=int, default=100, help="render N pages; 0 does not measure `render`"
    )
    parser.add_argument("--parts", type=int, default=0, help="let each rendered page make N requests")
    parser.add_argument("--heavy", type=int, default=50, help="make every Nth page heavy; 0 for none")
    parser.add_argument("--rounds", type=int, default=3, help="repeat each command N times")
    parser.add_argument("--workers", type=int, default=1, help="run N worker processes")
    args = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    workers = ("--workers", str(args.workers))
    if args.input is not None:
        before = [["ingest", "bench", str(args.input.resolve())]]
        compare("process", args, before, ["process", *workers], "")
    if args.pages:
        with serve_site(args.pages, heavy=args.heavy) as url:
            compare("crawl", args, [["seed", url]], ["crawl", *workers], "")
    if args.rendered:
        with serve_site(args.rendered, scripted=True, parts=args.parts) as url:
            compare("render", args, [["seed", url]], ["crawl", *workers], 'render = "always"')


def compare(
    name: str, args: argparse.Namespace, before: list[list[str]], words: list[str], crawler: str
) -> None:
    """Run a command in fresh projects of both checkouts, and print its costs."""
    checkouts = {"this": HERE, "against": args.against.resolve()}
    found: dict[str, list[dict[str, float]]] = {each: [] for each in checkouts}
    for _ in range(args.rounds):
        for each, checkout in checkouts.items():
            found[each].append(measure(checkout, before, words, crawler))
    medians = {
        each: {key: round(statistics.median(one[key] for one in rounds), 2) for key in rounds[0]}
        for each, rounds in found.items()
    }
    ratio = {key: round(medians["this"][key] / medians["against"][key], 3) for key in ("cpu_s", "wall_s")}
    print(json.dumps({"bench": name, "workers": args.workers, "rounds": found, **medians, "ratio": ratio}))


def measure(checkout: Path, before: list[list[str]], words: list[str], crawler: str) -> dict[str, float]:
    """Measure one round of one checkout."""
    project = Path(tempfile.mkdtemp(prefix="thresher-bench-"))
    try:
        (project / "thresher.toml").write_text(
            '[project]\ncontact = "mailto:bench@example.org"\n[crawler]\nmin_delay = 0\n'
            f'allow_networks = ["127.0.0.0/8"]\n{crawler}\n[filters]\nlanguages = ["en"]\n'
        )
        for each in before:
            command(checkout, project, each)
        wall, cpu = time.perf_counter(), cpu_seconds()
        command(checkout, project, words)
        wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    finally:
        shutil.rmtree(project)
    return {"cpu_s": cpu, "wall_s": wall}


def command(checkout: Path, project: Path, words: list[str]) -> None:
    """Run `thresher` of a checkout, and wait for the last process that it started."""
    program = project / "command.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    subprocess.run(
        [sys.executable, str(program), *words], cwd=project, env=environment, capture_output=True, check=True
    )
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def cpu_seconds() -> float:
    """Return the CPU seconds of the processes that were waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@contextmanager
def serve_site(pages: int, *, heavy: int = 0, scripted: bool = False, parts: int = 0) -> Iterator[str]:
    """Serve a site of so many pages for the time of the context. Yield the URL of a page that links to all."""

    made: dict[str, bytes] = {}
    asked: set[str] = set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.add(self.path)
            if (body := made.get(self.path)) is None:
                body = made[self.path] = page(
                    self.path, pages, heavy=heavy, scripted=scripted, parts=parts
                ).encode()
            self.send_response(404 if self.path == "/robots.txt" else 200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    assert {f"/{number or ''}" for number in range(pages)} <= asked


def page(path: str, pages: int, *, heavy: int, scripted: bool, parts: int) -> str:
    """Return the HTML of a page."""
    if not path[1:].isdigit():
        return "".join(f"<a href=/{number}>{number}</a>" for number in range(1, pages))
    number = int(path[1:])
    sentences = 5_600 if heavy and number % heavy == 0 else 180
    random = Random(number)
    texts = [
        " ".join("".join(random.choices(SYLLABLES, k=3)) for _ in range(WORDS)) for _ in range(sentences)
    ]
    body = (
        SCRIPT.format(texts=json.dumps(texts), parts=parts)
        if scripted
        else "".join(f"<p>{text}</p>" for text in texts)
    )
    return f"<!doctype html><html lang=en><title>Page {number}</title><body>{body}</body></html>"


if __name__ == "__main__":
    main()
