"""Webhooks, imports and mirrors against a name server that lies: nothing arrives at a private address."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .name_server import INNER_HOSTS, MOVING, NAMES, PRIVATE, PUBLIC

ROOT = Path(__file__).parents[2]
CONNECTION = re.compile(
    r"\b(?:aiohttp|aiosmtplib|httpx|urllib\.request|http\.client|ldap3|imaplib|open_connection|create_connection)\b"
)
WAYS_OUT = {
    "hooks/endpoints/clients/http.py",
    "identity/directories/clients/connections.py",  # what administrators name; identity's tests try it
    "identity/directories/clients/ldap.py",
    "identity/providers/clients/http.py",  # what administrators name; identity's tests try it
    "identity/providers/clients/checked.py",
    "remotes/connections/http.py",  # the API of a source; the tests of imports redirect it
    "remotes/connections/lfs.py",
    "remotes/connections/sessions.py",  # the sessions of both
    "remotes/connections/socks_proxy.py",
    "git/remote/helper_programs.py",  # what git calls to reach the proxy
}
"""Modules of services, and of two libraries of repos, that connect to what users name.

The tests of this file make each of them do so.
"""
OF_OPERATORS = {
    "mail/access_tokens/clients.py",
    "mail/mailboxes/clients.py",
    "mail/smtp/clients.py",
}
"""Modules of services that connect to what the operator names in the settings, and to nothing else."""
REFUSED = re.compile("nothing is sent there unless|may not be reached from here")


@pytest.fixture
def in_namespace(tmp_path: Path) -> list[str]:
    """Return a command that runs a program in a network with all addresses and its own name server."""
    (tmp_path / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:2\n")
    (tmp_path / "hosts").write_text("127.0.0.1 localhost\n")
    prepare = [
        *(f"mount --bind {tmp_path / name} /etc/{name}" for name in ("resolv.conf", "hosts")),
        "ip link set lo up",
        *(f"ip addr add {address}/32 dev lo" for address in (PUBLIC, *PRIVATE[1:])),
    ]
    reason = "this needs unshare"
    # Other users may be root of namespaces of their own, if the machine allows it. So may root in a
    # container.
    for namespaces in ("-nm", "-Urnm") if shutil.which("unshare") else ():
        command = ["unshare", namespaces, "sh", "-ec", " && ".join([*prepare, 'exec "$@"']), "sh"]
        done = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return command
        reason = done.stderr.strip()
    pytest.skip(
        f"NOT TRIED: whether users' names reach private addresses; no network namespaces here: {reason}"
    )


def test_there_is_no_other_way_out():
    folders = ("services/*/src", "libs/git/src", "libs/remotes/src")
    files = [path for folder in folders for path in ROOT.glob(f"{folder}/**/*.py")]
    connecting = [path for path in files if CONNECTION.search(path.read_text())]
    parts = [path.relative_to(ROOT).parts[1:] for path in connecting]
    assert {"/".join((service, *rest)) for service, _, _, *rest in parts} == WAYS_OUT | OF_OPERATORS


def test_nothing_arrives_at_a_private_address(in_namespace, tmp_path):
    program = (sys.executable, "-m", "tests.safety.name_server", str(tmp_path))
    done = subprocess.run([*in_namespace, *program], cwd=ROOT, capture_output=True, text=True, check=False)
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
