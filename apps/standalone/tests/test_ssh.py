"""git over SSH inside `ingot up`, and the port that it listens on."""

import contextlib
import os
import shlex
import shutil
import socket
import subprocess

import httpx
import pytest

from ingot_chassis.settings import load
from ingot_repos.settings import Settings
from ingot_standalone.ssh import set_urls
from ingot_testing.processes import free_port

from .ingot_command import ingot


def test_a_repository_is_cloned_from_its_ssh_url(start, tmp_path):
    if shutil.which("ssh") is None or shutil.which("ssh-keygen") is None:
        pytest.skip("there is no ssh here")
    port = free_port()
    running = start("--ssh-port", str(port)).wait_ready()
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    api = httpx.Client(base_url=f"{running.url}api/v1/", auth=("root", running.password), timeout=20)
    with api:
        added = api.post("user/keys", json={"title": "laptop", "key": key.with_suffix(".pub").read_text()})
        created = api.post("user/repos", json={"name": "demo", "auto_init": True}).json()
    assert added.status_code == 201
    assert created["ssh_url"] == f"ssh://git@127.0.0.1:{port}/root/demo.git"
    ssh = [
        "ssh",
        "-F",
        "none",
        "-i",
        str(key),
        "-o",
        "StrictHostKeyChecking=accept-new",
        "-o",
        "BatchMode=yes",
    ]
    ssh += ["-o", f"UserKnownHostsFile={tmp_path / 'known_hosts'}"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_SSH_COMMAND": shlex.join(ssh)}
    subprocess.run(
        ["git", "clone", "-q", created["ssh_url"], "copy"], cwd=tmp_path, env=environment, check=True
    )
    assert (tmp_path / "copy" / "README.md").read_text().startswith("# demo")
    assert running.stop() == 0


def test_where_ssh_is_off_no_url_of_ssh_is_shown(start):
    running = start("--ssh-port", "0", INGOT_REPOS_SSH_HOST="git.example.org").wait_ready()
    with httpx.Client(base_url=f"{running.url}api/v1/", auth=("root", running.password), timeout=20) as api:
        assert api.post("user/repos", json={"name": "demo"}).json()["ssh_url"] == ""


@pytest.mark.parametrize(
    ("variables", "url", "port", "shown"),
    [
        ({}, "http://localhost:3000/", 2222, ("localhost", 2222)),
        ({}, "http://[::1]:3000/", 2222, ("::1", 2222)),
        ({"INGOT_REPOS_SSH_HOST": "ssh.example.org"}, "http://localhost/", 2222, ("ssh.example.org", 2222)),
        ({"INGOT_REPOS_SSH_PORT": "22"}, "http://localhost/", 2222, ("localhost", 22)),
    ],
)
def test_urls_of_ssh_name_the_port_that_listens_unless_another_is_named(
    monkeypatch, variables, url, port, shown
):
    for name in ("INGOT_REPOS_SSH_HOST", "INGOT_REPOS_SSH_PORT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    settings = load(Settings, "repos", os.environ)
    set_urls(settings, url, port)
    assert (settings.ssh_host, settings.ssh_port) == shown


def test_a_chosen_port_in_use_is_one_line(folder):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        error = ingot("up", "--port", "0", "--ssh-port", port, "--data", str(folder)).error_line
    assert error.startswith("ingot: no SSH: ")
    assert error.endswith("choose another port with --ssh-port")


def test_without_the_default_port_there_is_no_ssh(folder):
    folder.mkdir()
    (folder / "identity.db").touch()  # without its secrets nothing starts, so the command ends
    for _ in range(5):
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(socket.create_server(("127.0.0.1", 2222)))
                is_other = False
            except OSError:  # another process has the port, which is enough while it runs
                is_other = True
            result = ingot("up", "--port", "0", "--data", str(folder))
        if not is_other or " off: " in result.out:
            break  # otherwise the other process has released it
    assert "SSH            off: port 2222 is taken; choose another with --ssh-port" in result.out
    assert "secrets.json is missing" in result.err


@pytest.mark.parametrize("port", ["ssh", "65536"])
def test_a_port_that_is_none_is_refused(folder, port):
    result = ingot("up", "--ssh-port", port, "--data", str(folder))
    assert (result.code, "is no port" in result.err) == (2, True)
