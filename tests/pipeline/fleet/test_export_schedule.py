"""An export is due when there is something new and its time has come."""

import pytest

from thresher.core import InputError
from thresher.crawler.spiders import SpiderSpec
from thresher.pipeline import configuration
from thresher.pipeline.fleet.export_schedule import ExportProgress, is_export_due
from thresher.pipeline.fleet.fleet_command import check_numbers, fleet_version
from thresher.pipeline.fleet.member_call import export_directory
from thresher.pipeline.fleet_settings import FleetSettings

HOUR_MS = 3_600_000


def progress(**fields):
    return ExportProgress(
        **{
            "now_ms": 100 * HOUR_MS,
            "is_complete": True,
            "pages": 10,
            "exported_at_ms": 0,
            "exported_pages": 0,
            **fields,
        }
    )


@pytest.mark.parametrize(
    ("when", "fields", "due"),
    [
        ("drained", {}, True),
        ("drained", {"is_complete": False}, False),
        ("drained", {"exported_pages": 10}, False),
        ("drained", {"exported_pages": 9}, True),
        ("24h", {"is_complete": False}, True),
        ("24h", {"exported_at_ms": 77 * HOUR_MS}, False),
        ("24h", {"exported_at_ms": 76 * HOUR_MS}, True),
        ("24h", {"exported_at_ms": 1, "exported_pages": 10}, False),
    ],
)
def test_when_an_export_is_due(when, fields, due):
    settings = FleetSettings(export_out="out", export_when=when)
    assert is_export_due(settings, progress(**fields)) is due
    assert not is_export_due(FleetSettings(export_when=when), progress(**fields))


@pytest.mark.parametrize(
    ("when", "seconds"), [("drained", None), ("30m", 1_800), ("24h", 86_400), ("7d", 604_800)]
)
def test_the_time_between_two_exports(when, seconds):
    assert FleetSettings(export_when=when).export_interval_s == seconds


def config(tmp_path, fleet="", crawler=""):
    return configuration.parse(f"[crawler]\n{crawler}\n[fleet]\n{fleet}\n", tmp_path)


@pytest.mark.parametrize(
    ("out", "directory"),
    [
        ("exports", "{}/exports/main-"),
        ("file:exports", "{}/exports/main-"),
        ("/srv/exports", "/srv/exports/main-"),
        ("s3://bucket/some/prefix", "s3://bucket/some/prefix/main-"),
    ],
)
def test_each_export_has_a_folder_of_its_own(tmp_path, out, directory):
    found = export_directory(config(tmp_path, f'export_out = "{out}"'), "main", "1a2b3c4d-5e6f7a8b")
    assert found.startswith(directory.format(tmp_path))
    assert found.endswith("Z-1a2b3c4d")


def test_a_version_changes_with_what_members_do_and_not_with_their_numbers(tmp_path):
    versions = [
        fleet_version(config(tmp_path, *each))
        for each in ((), ("crawlers = 7",), ("", "timeout = 7"), ("", "timeout = 8"))
    ]
    assert versions[0] == versions[1]
    assert len(set(versions)) == 3


def test_a_version_changes_with_the_spider_and_with_each_of_its_files(tmp_path):
    def version(**changed):
        return fleet_version(
            config(tmp_path), SpiderSpec(class_path="shop.a:A", directory=tmp_path, **changed)
        )

    versions = [fleet_version(config(tmp_path)), version()]
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "a.py").write_text("x = 1")
    versions += [version(), version(arguments=(("a", "b"),)), version(settings_path="shop.settings")]
    (tmp_path / "shop" / "helper.py").write_text("x = 1")
    versions.append(version())
    (tmp_path / "shop" / "helper.py").write_text("x = 2")
    versions.append(version())
    assert len(set(versions)) == len(versions) == 7
    (tmp_path / "other.py").write_text("x = 1")
    assert version() == versions[-1]


def test_limits_hold_for_what_an_operator_says_and_for_the_first_start(tmp_path):
    limited = config(tmp_path, "crawlers = 9\nmax_crawlers = 4")
    assert limited.fleet.numbers["crawler"] == 4
    check_numbers(limited, {"crawler": 4, "processor": 99})
    with pytest.raises(InputError, match=r"--crawlers 5: .* allow 0 to 4"):
        check_numbers(limited, {"crawler": 5})
    with pytest.raises(InputError, match=r"--processors 1000000: give 100000 at most"):
        check_numbers(limited, {"processor": 1_000_000})
