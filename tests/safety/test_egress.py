"""Webhooks, imports and mirrors against a name server that lies: nothing arrives at a private address."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .name_server import INNER_HOSTS, MOVING, NAMES, PRIVATE, PUBLIC

ROOT = Path(__file__).parents[2]
CONNECTION = re.compile(
    r"\b(?:aiohttp|httpx|urllib\.request|http\.client|open_connection|create_connection)\b"
)
WAYS_OUT = {
    "hooks/clients/endpoints.py",
    "repos/clients/lfs_remotes.py",
    "repos/clients/socks_proxy.py",
    "repos/git/helper_programs.py",  # what git calls to reach the proxy
}
"""Modules of services that connect to what users name. The tests of this file make each of them do so."""
REFUSED = re.compile("nothing is sent there unless|may not be reached from here")


@pytest.fixture
def namespace() -> Iterator[str]:
    """A network that has all the addresses, and asks its own machine for names."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("network namespaces need root and ip")
    name = f"ingot-names-{os.getpid()}"
    run = lambda *command: subprocess.run(command, capture_output=True, check=True)  # noqa: E731
    try:
        run("ip", "netns", "add", name)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespaces here: {error.stderr.decode().strip()}")
    settings = Path("/etc/netns") / name  # `ip netns exec` shows these files below /etc
    try:
        run("ip", "-n", name, "link", "set", "lo", "up")
        for address in (PUBLIC, *PRIVATE[1:]):
            run("ip", "-n", name, "addr", "add", f"{address}/32", "dev", "lo")
        settings.mkdir(parents=True)
        (settings / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:2\n")
        (settings / "hosts").write_text("127.0.0.1 localhost\n")
        yield name
    finally:
        shutil.rmtree(settings, ignore_errors=True)
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def test_there_is_no_other_way_out():
    sources = {path: path.read_text() for path in ROOT.glob("services/*/src/**/*.py")}
    connecting = {path for path, text in sources.items() if CONNECTION.search(text)}
    parts = [path.relative_to(ROOT / "services").parts for path in connecting]
    assert {"/".join((service, *rest)) for service, _, _, *rest in parts} == WAYS_OUT


def test_nothing_arrives_at_a_private_address(namespace, tmp_path):
    program = (sys.executable, "-m", "tests.safety.name_server", str(tmp_path))
    done = subprocess.run(
        ("ip", "netns", "exec", namespace, *program), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)

    assert result["private"] == []
    assert set(result["asked for"]) >= {*NAMES, MOVING}
    assert [REFUSED.search(end) is not None for end in result["objects"]] == [True] * len(INNER_HOSTS), result
    assert result["sync"] == "address"
    hosts = {name: {arrival for arrival in result["public"] if arrival.startswith(name)} for name in NAMES}
    everything = {
        f"honest.example/{path}" for path in ("hook", "import.git/info/refs?service=git-upload-pack")
    }
    assert everything <= hosts["honest.example"], result
    assert hosts["redirecting.example"], "asked, and its redirect not followed"
    assert "rebinding.example/hook" in hosts["rebinding.example"], "reached while its address was public"
    # The names that are public were reached, so the others could have been.
    assert all(line.startswith("SSH-2.0-") for line in result["ports"]["ssh"]), result
    assert all("git-upload-pack /import.git" in line for line in result["ports"]["git"]), result
    for name in ("mixed.example", "inside.example", "metadata.example", "mapped.example", "both.example"):
        assert not hosts[name], result
        for scheme, copies in result["copies"].items():
            assert result["ports"][scheme], result
            assert [REFUSED.search(end) is not None for end in copies[name]] == [True] * 2, result
        assert [REFUSED.search(end) is not None for end in result["ends"][name]] == [True] * 5, result
