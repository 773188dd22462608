"""Bytes that a page takes in storage, by folder: archive, index, log, documents, verdicts, signatures, shards.

usage: python bench/storage/stored.py --warc PAGES.warc.gz --tokenizer FILE

The responses of the file are served on loopback, and crawled, processed and exported by the commands that a user types.
So the archive has request records, one gzip member a record, and robots.txt files, as that of any crawl. The script
prints one JSON line. `bench/pipeline/make_warc.py` makes the file.
"""

import argparse
import http.server
import json
import os
import socketserver
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from fastwarc.warc import ArchiveIterator, WarcRecordType

ROOT = Path(__file__).resolve().parents[2]
TOML = """
[project]
contact = "mailto:bench@example.org"
[crawler]
min_delay = 0.0
allow_networks = ["127.0.0.0/8"]
[filters]
languages = ["en"]
"""


def pages(path: Path):
    """Yield the entity of each response with its content type."""
    with path.open("rb") as file:
        for record in ArchiveIterator(file, record_types=WarcRecordType.response, parse_http=True):
            yield record.http_content_type or "text/html", record.reader.read()


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 256


def serve(bodies) -> tuple[Server, str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            name = self.path.removeprefix("/p/")
            kind, body = bodies[int(name)] if name.isdigit() else ("text/plain", b"")
            self.send_response(200 if name.isdigit() else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}"


def size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--warc", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    chosen = parser.parse_args()
    bodies = list(pages(chosen.warc))
    server, origin = serve(bodies)
    with tempfile.TemporaryDirectory() as name:
        project = Path(name)
        (project / "thresher.toml").write_text(TOML)
        seeds = "\n".join(f"{origin}/p/{number}" for number in range(len(bodies)))

        def thresher(*words, text=None):
            command = [sys.executable, "-m", "thresher", *map(str, words)]
            environment = {**os.environ, "THRESHER_PROJECT": name, "PYTHONPATH": str(ROOT)}
            done = subprocess.run(
                command, input=text, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode not in {0, 3}:
                sys.exit(done.stderr)
            return done.stdout

        thresher("seed", "-", "--crawl", "main", "--depth", "0", text=seeds)
        thresher("crawl", "main")
        thresher("process")
        thresher("dedup")
        exported = json.loads(
            thresher("export", "--out", project / "out", "--tokenizer", chosen.tokenizer.resolve(), "--json")
        )
        data = project / "data"
        archive = [path for path in data.glob("warc/*/*") if ".warc" in path.name]
        found = {
            "pages": len(bodies),
            "html_bytes": sum(len(body) for _, body in bodies) / len(bodies),
            "warc_bytes": sum(path.stat().st_size for path in archive) / len(bodies),
            **{
                f"{folder}_bytes": round(size(data / folder) / len(bodies), 1)
                for folder in (
                    "documents",
                    "measurements",
                    "verdicts",
                    "signatures",
                    "dropped_signatures",
                    "log",
                    "manifests",
                )
            },
            "cdxj_bytes": sum(path.stat().st_size for path in data.glob("warc/*/*.cdxj.gz")) / len(bodies),
            "export_bytes": size(project / "out") / len(bodies),
            "export": {key: exported[key] for key in exported if isinstance(exported[key], int)},
        }
        print(
            json.dumps(
                {key: round(value, 1) if isinstance(value, float) else value for key, value in found.items()}
            )
        )
    server.shutdown()


if __name__ == "__main__":
    main()
