"""The first record of an archive file says how the crawl was configured, and nothing that is secret."""

import json
from pathlib import Path

from thresher.pipeline import configuration
from thresher.pipeline.fleet.crawl_call import WRITTEN, warcinfo_fields

TEXT = """
[project]
contact = "mailto:someone@example.org"
[crawler]
{more}
min_delay = 2.5
render = "auto"
proxy = "http://user:secret@proxy.internal:3128"
nameservers = ["10.0.0.53:53"]
allow_networks = ["10.0.0.0/8"]
[crawler.auth."example.org"]
user = "somebody"
password = "secret"
"""


def fields(more=""):
    return warcinfo_fields(configuration.parse(TEXT.format(more=more), Path()))


def test_the_operator_is_the_contact_unless_one_is_named():
    assert fields()["operator"] == "mailto:someone@example.org"
    assert "description" not in fields()
    named = fields('operator = "A library"\ndescription = "All of our town"')
    assert (named["operator"], named["description"]) == ("A library", "All of our town")


def test_the_configuration_has_how_pages_were_taken_and_no_secret():
    written = json.loads(fields()["thresher-configuration"])
    assert (written["min_delay"], written["render"], written["max_body"]) == (2.5, "auto", 10 << 20)
    text = json.dumps(fields())
    for secret in ("secret", "somebody", "internal", "10.0.0", "example.org/"):
        assert secret not in text


def test_every_key_that_is_written_is_a_key_of_its_owner():
    owners = {(setting.owner, setting.name) for setting in configuration.settings_of("crawler")}
    assert {(owner, key) for owner, keys in WRITTEN.items() for key in keys} <= owners
