"""The trace of a command runs through its processes, and log lines carry its identifiers."""

import json
import logging
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.crawler.server import Server, links
from tests.pipeline.crawl_projects import project_at
from tests.pipeline.telemetry.collector import collecting
from thresher.core.tracing import identified, root_span, span
from thresher.frontier.link.embedded import embedded_server
from thresher.pipeline.telemetry.json_log import JsonFormatter
from thresher.pipeline.telemetry.open_telemetry import is_enabled
from thresher.pipeline.telemetry.trace_context import NO_TRACE, joined, trace_context

ROOT = Path(__file__).resolve().parents[3]
THRESHER = "from thresher.pipeline.commands.app import main; main()"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    directory = tmp_path_factory.mktemp("traced")
    with embedded_server(tmp_path_factory.mktemp("redis")) as address, Server().in_thread() as site:
        site.fallback = lambda path: links(*(f"/{n}" for n in range(3)), text=f"page {path}")
        project_at(directory, address)
        (directory / "seeds.txt").write_text(f"{site.url}/\n")
        yield directory


def thresher(project, *words, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    ran = subprocess.run(
        [sys.executable, "-c", THRESHER, *words],
        cwd=project,
        env={**clean, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran


@pytest.fixture(scope="module")
def crawled(project):
    """A crawl and its processing, traced to a real receiver."""
    with collecting() as collector:
        environment = collector.environment(OTEL_SERVICE_NAME="night crawl")
        thresher(project, "seed", "seeds.txt", "--crawl", "main", **environment)
        thresher(project, "crawl", "main", **environment)
        thresher(project, "process", "main", "--workers", "1", **environment)
        yield collector


def test_a_command_is_one_trace_with_its_worker_process(crawled):
    (command,) = crawled.named("thresher crawl")
    (worker,) = crawled.named("worker")
    assert worker.trace == command.trace
    assert worker.parent == command.id
    assert worker.pid != command.pid
    assert worker.attributes["thresher.crawl"] == "main"
    assert crawled.services == {"night crawl"}


def test_each_page_is_a_trace_of_its_own_that_names_its_worker(crawled):
    pages = crawled.named("page")
    (worker,) = crawled.named("worker")
    assert len(pages) == 5, "robots.txt, the seed and what it links to"
    assert len({page.trace for page in pages}) == 5
    for page in pages:
        assert page.links == [worker.trace]
        assert page.attributes["thresher.worker"] == worker.attributes["thresher.worker"]
        assert page.attributes["thresher.url"].startswith("http://127.0.0.1:")
    assert crawled.named("lease batch")


def test_a_part_is_a_child_of_its_step(crawled):
    (command,) = crawled.named("thresher process")
    (step,) = crawled.named("step")
    (part,) = crawled.named("part")
    assert (step.parent, part.parent) == (command.id, step.id)
    assert part.trace == command.trace
    assert part.attributes["thresher.part"].startswith("main/part-")
    assert len(part.attributes["thresher.run"]) == 32
    assert part.attributes["thresher.run"] == step.attributes["thresher.run"]


@pytest.mark.slow
@pytest.mark.usefixtures("crawled")
def test_a_sampler_takes_some_of_the_pages_and_the_parent_may_be_anothers(project):
    with collecting() as collector:
        thresher(
            project,
            "rescrape",
            "main",
            "127.0.0.1",
            **collector.environment(
                OTEL_TRACES_SAMPLER="parentbased_traceidratio",
                OTEL_TRACES_SAMPLER_ARG="0",
                TRACEPARENT=f"00-{'a' * 32}-{'b' * 16}-01",
            ),
        )
        (command,) = collector.named("thresher rescrape")
        assert (command.trace, command.parent) == ("a" * 32, "b" * 16)
        assert collector.named("page") == []


@pytest.mark.slow
@pytest.mark.usefixtures("crawled")
def test_a_collector_that_is_away_costs_spans_and_nothing_else(project):
    thresher(
        project,
        "report",
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9",
        OTEL_EXPORTER_OTLP_TIMEOUT="1",
    )


SPANS = """
import time
from thresher.core.tracing import span
from thresher.pipeline.telemetry import open_telemetry
from thresher.pipeline.telemetry.trace_context import command_telemetry
open_telemetry.FLUSH_MS = 200
began = time.monotonic()
with command_telemetry("test"):
    for _ in range(2000):
        with span("page"):
            pass
print(time.monotonic() - began)
"""


def test_a_collector_that_hangs_is_waited_for_once_and_not_for_each_batch():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        ran = subprocess.run(
            [sys.executable, "-c", SPANS],
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{silent.getsockname()[1]}",
            },
            capture_output=True,
            text=True,
            check=True,
        )
        took_s = time.monotonic() - began
    assert float(ran.stdout) < 8, "four batches of 10 s"
    assert took_s < 9, "the end of the process waits no longer"


WRONG = (
    "OTEL_BSP_MAX_QUEUE_SIZE=0",
    "OTEL_PROPAGATORS=bogus",
    "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=abc",
)


@pytest.mark.parametrize(
    "variable", [WRONG[0], *(pytest.param(one, marks=pytest.mark.slow) for one in WRONG[1:])]
)
def test_a_wrong_variable_is_one_line_for_a_command_and_no_hindrance_for_a_worker(variable):
    name, _, value = variable.partition("=")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
        name: value,
    }
    worker = (
        "from thresher.pipeline.telemetry.trace_context import TraceContext, joined\n"
        f"with joined(TraceContext(traceparent='00-{'a' * 32}-{'b' * 16}-01'), is_whole_process=True): print('works')"
    )
    command, working = (
        subprocess.run(
            [sys.executable, "-c", code, *words],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        for code, words in ((THRESHER, ["status"]), (worker, []))
    )
    assert command.returncode == 2
    assert "an OTEL_* variable has a wrong value" in command.stderr
    assert "Traceback" not in command.stderr
    assert (working.returncode, working.stdout) == (0, "works\n")
    assert "no traces" in working.stderr


def test_without_the_variables_nothing_is_imported(project):
    # redis-py imports OpenTelemetry's metrics by itself, wherever that is installed.
    code = (
        "import sys\nfrom thresher.pipeline.commands.app import app\n"
        "try:\n  app(['status', '--json'])\nexcept SystemExit: pass\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry.exporter')], file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stderr.strip().endswith("[]")


def test_log_lines_are_json_in_all_processes(project):
    ran = thresher(project, "--log-format", "json", "rescrape", "main", "127.0.0.1")
    lines = [json.loads(line) for line in ran.stderr.splitlines()]
    assert lines
    for line in lines:
        assert {"time", "level", "logger", "message"} <= set(line)
        assert line["time"].endswith("Z")


def test_a_wrong_format_is_one_line(project):
    ran = subprocess.run(
        [sys.executable, "-c", THRESHER, "status"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT), "THRESHER_LOG_FORMAT": "xml"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert "xml" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_record_has_the_identifiers_of_its_context():
    record = logging.LogRecord("crawler.x", logging.WARNING, "x.py", 1, "%s broke", ("it",), None)
    with identified(crawl="main", worker="w-1"), identified(part="main/p", other="unknown"):
        line = json.loads(JsonFormatter().format(record))
    del line["time"]
    assert line == {
        "level": "WARNING",
        "logger": "crawler.x",
        "message": "it broke",
        "crawl": "main",
        "worker": "w-1",
        "part": "main/p",
    }


def test_a_traceback_and_a_secret_in_a_record():
    try:
        int("redis://user:geheim@host/ is away")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "x.py", 1, "broke", (), sys.exc_info())
    text = JsonFormatter().format(record)
    assert "ValueError" in json.loads(text)["error"]
    assert "geheim" not in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("environment", "enabled"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_EXPORTER": "none"}, False),
    ],
)
def test_the_standard_variables_decide(environment, enabled):
    assert is_enabled(environment) is enabled


def test_without_a_tracer_a_span_is_nothing_and_the_context_travels_empty():
    with span("x", a=1), root_span("y"), identified(crawl="main"):
        context = trace_context()
    assert context.traceparent == ""
    assert context.identifiers == {"crawl": "main"}
    with joined(NO_TRACE, is_whole_process=False):
        assert trace_context() == NO_TRACE
