"""Check every package of requirements.lock in an advisory database (OSV), or report that it is unreachable.

The exit code is 1 if a package has a known vulnerability. OSV_URL names another server with the same
interface.
"""

import json
import os
import sys
import urllib.request

from sbom import LOCK, packages

SECONDS = 20


def main() -> int:
    """Prints a line for each package with advisories."""
    locked = packages(LOCK.read_text())
    queries = [
        {"package": {"ecosystem": "PyPI", "name": name}, "version": version} for name, version, _ in locked
    ]
    url = os.environ.get("OSV_URL", "https://api.osv.dev")
    body = json.dumps({"queries": queries}).encode()
    request = urllib.request.Request(f"{url}/v1/querybatch", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            results = json.load(answer)["results"]
    except (OSError, ValueError, KeyError) as error:  # also a proxy that answers a page of its own
        print(f"skipped: {url} cannot be reached ({error})")
        return 0
    vulnerable = False
    for (name, version, _), result in zip(locked, results, strict=True):
        for advisory in result.get("vulns", []):
            vulnerable = True
            print(f"{name} {version}: {advisory['id']}")
    print(f"looked {len(locked)} packages up")
    return int(vulnerable)


if __name__ == "__main__":
    sys.exit(main())
