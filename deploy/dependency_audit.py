"""`make audit`: list the installed packages in CycloneDX format (SBOM), and name known vulnerabilities.

The list `build/sbom.cdx.json` is made offline. Vulnerabilities come from the package registry. If no registry
responds, or if it knows none of the packages, one line says that nothing was audited, and the exit code is 0, because
a build must work offline. The exit code is 1 for a known vulnerability, and for a list that cannot be written.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

BUILD = Path("build")
LOCK = "requirements-all.lock"
MAX_DURATION_S = 120
"""Seconds for all packages. Each takes one request."""
NOT_AUDITED = "audit: NOT audited for known vulnerabilities"


def audit_result(report: Mapping[str, Any]) -> tuple[int, list[str]]:
    """Return the exit code for what pip-audit reports, and the lines to print."""
    packages = report["dependencies"]
    unknown = [each["name"] for each in packages if "skip_reason" in each]
    lines = [
        f"audit: {each['name']} {each['version']} has {found['id']}; "
        f"fixed in {', '.join(found['fix_versions']) or 'no version'}"
        for each in packages
        for found in each.get("vulns", ())
    ]
    if lines:
        return 1, lines
    audited = len(packages) - len(unknown)
    if not audited:
        return 0, [f"{NOT_AUDITED}: the registry knows none of the {len(packages)} packages"]
    some = f"; NOT audited, because the registry does not know them: {', '.join(unknown)}" if unknown else ""
    return 0, [f"audit: no known vulnerability in {audited} packages{some}"]


def audit(program: Sequence[str], report: Path) -> tuple[int, list[str]]:
    """Run pip-audit, which writes `report` after a response for every package. Return the result of `audit_result`."""
    report.unlink(missing_ok=True)
    try:
        done = subprocess.run(program, capture_output=True, text=True, timeout=MAX_DURATION_S, check=False)
    except subprocess.TimeoutExpired:
        return 0, [f"{NOT_AUDITED}: no response of the registry within {MAX_DURATION_S} s"]
    try:
        return audit_result(json.loads(report.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        why = (done.stderr.strip().splitlines() or ["no response"])[-1]
        return 0, [f"{NOT_AUDITED}: {why}"]


def main() -> int:
    """Write the list of the given Python's packages, audit the lock, and print the result."""
    (python,) = sys.argv[1:]
    BUILD.mkdir(exist_ok=True)
    sbom, report = BUILD / "sbom.cdx.json", BUILD / "audit.json"
    listed = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", "-o", str(sbom)]
    subprocess.run([*listed, "--pyproject", "pyproject.toml", python], check=True)
    asked = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "-r", LOCK]
    code, lines = audit([*asked, "--progress-spinner", "off", "-f", "json", "-o", str(report)], report)
    print(f"audit: {len(json.loads(sbom.read_text())['components'])} packages are listed in {sbom}")
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main())
