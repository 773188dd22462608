"""Dashboards and alert rules are valid for the real tools, and use only metrics that the code exports."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from thresher.pipeline.reports.metric_families import BY_NAME, series_names

ROOT = Path(__file__).resolve().parents[2]
PROMETHEUS = ROOT / "deploy" / "prometheus"
DASHBOARDS = sorted((ROOT / "deploy" / "grafana").glob("*.json"))
ALERTS = (
    "ThresherStoreSlow",
    "ThresherYieldFalling",
    "ThresherPolitenessViolated",
    "ThresherFleetTooSmall",
    "ThresherBacklogOld",
    "ThresherNoProgress",
    "ThresherFrontierDown",
    "ThresherStorageDamaged",
    "ThresherDiskFilling",
)
NAME = re.compile(r"\bthresher_[a-z_]+\b")
SELECTOR = re.compile(r"\b(thresher_[a-z_]+)\{([^}]*)\}")


@pytest.fixture(scope="module")
def promtool():
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not on PATH: install Debian's package prometheus")
    return found


def rules():
    (group,) = yaml.safe_load((PROMETHEUS / "thresher_alerts.yml").read_text())["groups"]
    return group["rules"]


def expressions():
    """Every expression of dashboards and rules, with the place where it stands."""
    for rule in rules():
        yield rule["alert"], rule["expr"]
    for path in DASHBOARDS:
        dashboard = json.loads(path.read_text())
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                yield f"{path.name}: {panel['title']}", target["expr"]
        for variable in dashboard["templating"]["list"]:
            if variable["type"] == "query":
                yield f"{path.name}: ${variable['name']}", variable["query"]["query"]


def test_the_alerts_are_these_and_each_says_what_to_do():
    assert {rule["alert"] for rule in rules()} == set(ALERTS)
    for rule in rules():
        notes = rule["annotations"]
        assert notes["summary"]
        assert notes["description"]
        assert notes["runbook_url"] == f"docs/guides/runbook.md#{rule['alert'].lower()}"
        assert rule["labels"]["severity"] in {"warning", "critical"}


def test_every_metric_that_is_used_is_exported():
    used = [(place, name) for place, expression in expressions() for name in NAME.findall(expression)]
    assert len(used) > 80
    assert [(place, name) for place, name in used if name not in series_names()] == []


def test_every_label_that_is_used_is_one_of_its_metric():
    for place, expression in expressions():
        for name, selectors in SELECTOR.findall(expression):
            family = BY_NAME.get(name) or BY_NAME[name.rpartition("_")[0]]
            labels = set(re.findall(r'(\w+)\s*[=!]~?"?', selectors))
            assert labels <= {*family.labels, "le"}, place


def test_every_metric_but_few_is_on_a_dashboard():
    on_dashboards = {name for place, text in expressions() if ".json" in place for name in NAME.findall(text)}
    missing = {
        name
        for name in BY_NAME
        if not {name, f"{name}_bucket"} & on_dashboards and not name.startswith("thresher_cache_")
    }
    assert missing == set()


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_can_be_imported(path):
    dashboard = json.loads(path.read_text())
    assert dashboard["uid"] == f"thresher-{path.stem}"
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = set()
    for panel in panels:
        place = panel["gridPos"]
        mine = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24
        assert not mine & cells, f"{panel['title']} lies on another panel"
        cells |= mine
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert panel["targets"]


def test_there_are_four_dashboards():
    assert [path.stem for path in DASHBOARDS] == ["cost", "crawl", "fleet", "processing"]


@pytest.mark.parametrize(
    "words",
    [
        ["check", "config", "prometheus.yml"],
        ["check", "rules", "--lint=all", "--lint-fatal", "thresher_alerts.yml"],
        ["test", "rules", *sorted(str(path) for path in (PROMETHEUS / "tests").glob("*.yml"))],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_promtool_finds_no_fault(promtool, words):
    ran = subprocess.run([promtool, *words], cwd=PROMETHEUS, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_every_expression_of_a_dashboard_is_valid(promtool, tmp_path):
    """promtool reads no dashboards: their expressions become the rules of a file."""
    groups = [
        {
            "name": f"panel {number}",
            "rules": [{"record": f"panel_{number}", "expr": expression.replace("$source", ".*")}],
        }
        for number, (place, expression) in enumerate(expressions())
        if ".json" in place and "label_values" not in expression
    ]
    path = tmp_path / "panels.yml"
    path.write_text(yaml.safe_dump({"groups": groups}))
    ran = subprocess.run([promtool, "check", "rules", path], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_every_alert_has_a_test():
    tests = [yaml.safe_load(path.read_text()) for path in (PROMETHEUS / "tests").glob("*.yml")]
    cases = [case for each in tests for test in each["tests"] for case in test["alert_rule_test"]]
    for alert in ALERTS:
        fired = [bool(case["exp_alerts"]) for case in cases if case["alertname"] == alert]
        assert True in fired, alert
        assert False in fired, alert


def test_a_scrape_of_the_code_passes_promtools_lint(promtool):
    from tests.pipeline.reports.test_metrics import CACHE, COST, STATUS
    from thresher.pipeline.reports.metrics import metrics

    text = metrics(STATUS, CACHE, COST)
    ran = subprocess.run(
        [promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
