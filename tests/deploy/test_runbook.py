"""The runbook has a section for each alert rule, and the rule leads there."""

import re

import pytest
import yaml  # type: ignore[import-untyped]

from tests.deploy.programs import DEPLOY, ROOT

RUNBOOK = (ROOT / "docs/guides/runbook.md").read_text()
RULES = DEPLOY / "prometheus/thresher_alerts.yml"
SECTIONS = dict(re.findall(r"^## (Thresher\w+)\n(.*?)(?=^## |\Z)", RUNBOOK, re.MULTILINE | re.DOTALL))


def alerts():
    if not RULES.exists():
        return {}
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"] if "alert" in rule}


def test_each_alert_has_its_section_and_each_section_its_alert():
    if not alerts():
        pytest.skip("deploy/prometheus has no alert rules yet")
    assert set(SECTIONS) == set(alerts())


@pytest.mark.parametrize("name", sorted(alerts()))
def test_an_alert_leads_to_its_section(name):
    assert alerts()[name]["annotations"]["runbook_url"].endswith(f"docs/guides/runbook.md#{name.lower()}")


@pytest.mark.parametrize("name", sorted(SECTIONS))
def test_a_section_says_what_it_means_where_to_look_why_and_what_to_do(name):
    assert re.findall(r"^\*\*(\w+)\.\*\*", SECTIONS[name], re.MULTILINE) == ["Means", "Look", "Causes", "Do"]
    assert "thresher" in SECTIONS[name]
