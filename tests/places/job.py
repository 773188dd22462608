"""A whole job as a user types it, wherever this runs: crawl three pages, one of them rendered, process, export and serve.

usage: python -m tests.places.job PROJECT [--render] [--no-sandbox]

It prints one JSON object: what was exported, and what the console answered.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers

TOML = """\
[project]
contact = "mailto:test@example.org"
[crawler]
min_delay = 0.0
allow_networks = ["127.0.0.0/8"]
render = "{render}"
browser_sandbox = {sandbox}
[filters]
preset = "none"
languages = []
"""
SENTENCE = "The {} archive keeps every byte that came over the wire, and one can read it again."
PAGES = {
    "/": f"<title>First</title><h1>First</h1><p>{SENTENCE.format('first')}</p><a href=/b>b</a><a href=/s>s</a>",
    "/b": f"<title>Second</title><h1>Zweites</h1><p>{SENTENCE.format('zweite, schön große')}</p>",
    "/s": "<title>Third</title><div id=root></div><script>document.getElementById('root').innerHTML ="
    f" '<h1>Third</h1><p>{SENTENCE.format('third')}</p>'</script>",
}


class Pages(BaseHTTPRequestHandler):
    def do_GET(self):
        page = PAGES.get(self.path)
        body = (page or "").encode()
        self.send_response(404 if page is None else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def thresher(project, *words):
    done = subprocess.run(
        [sys.executable, "-m", "thresher", *words],
        env={**os.environ, "THRESHER_PROJECT": str(project)},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        sys.exit(f"thresher {words[0]}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def console_answer(project):
    with subprocess.Popen(
        [sys.executable, "-m", "thresher", "serve", "--port", "0"],
        env={**os.environ, "THRESHER_PROJECT": str(project)},
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stderr
        line = process.stderr.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/", line)
        if address is None:
            sys.exit(f"thresher serve: {line}{process.stderr.read()}")
        with urllib.request.urlopen(f"{address[0]}healthz", timeout=60) as answer:
            status = json.load(answer)["status"]
        process.terminate()
        process.wait(60)
    return status


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("project", type=Path)
    parser.add_argument("--render", action="store_true")
    parser.add_argument("--no-sandbox", action="store_true")
    options = parser.parse_args()
    project = options.project
    project.mkdir(parents=True)
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "the": 1}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(project / "tokenizer.json"))
    render = "auto" if options.render else "never"
    sandbox = "false" if options.no_sandbox else "true"
    (project / "thresher.toml").write_text(TOML.format(render=render, sandbox=sandbox), encoding="utf-8")
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        seeds = project / "seeds.txt"
        seeds.write_text(f"http://127.0.0.1:{server.server_port}/\n", encoding="utf-8")
        words = [str(seeds), "--out", str(project / "out"), "--tokenizer", str(project / "tokenizer.json")]
        thresher(project, "run", *words, "--scope", "host", "--json")
        server.shutdown()
    thresher(project, "verify")
    manifest = json.loads((project / "out/manifest.json").read_text(encoding="utf-8"))
    sys.stdout.write(json.dumps({"manifest": manifest, "console": console_answer(project)}))


if __name__ == "__main__":
    main()
