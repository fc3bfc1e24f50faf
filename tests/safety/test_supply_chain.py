"""Installed packages are locked ones: all have hashes, and the bill of materials has all of them."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-tools.lock", "requirements-docs.lock")


def locked_versions():
    """The name and version of each package that Ingot needs to run, in the order of the lock."""
    return re.findall(r"^([\w.-]+)==([\w.+!]+)", (TOP / LOCKS[0]).read_text(), re.MULTILINE)


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_of_a_lock_has_one_version_and_hashes(lock):
    text = (TOP / lock).read_text()
    blocks = re.split(r"\n(?=\S)", text.strip())
    assert len(blocks) > 20 or lock == "requirements-tools.lock"
    without = [
        block.splitlines()[0] for block in blocks if not re.search(r"--hash=sha256:[0-9a-f]{64}", block)
    ]
    unpinned = [block.splitlines()[0] for block in blocks if not re.match(r"[\w.-]+==[\w.+!]+[ ;\\]", block)]
    assert (without, unpinned) == ([], [])


def test_what_scripts_install_by_name_comes_from_a_lock_by_hash():
    """`pip install` of anything but the workspace's own packages has --require-hashes in the same command."""
    scripts = [TOP / "Makefile", TOP / ".ci/run", *(TOP / "tools").iterdir(), *(TOP / "deploy").rglob("*")]
    commands = [
        (script.name, command)
        for script in scripts
        if script.is_file() and script.suffix not in (".png", ".pyc")
        for command in re.split(r"(?<!\\)\n", script.read_text().replace("\\\n", " "))
        if re.search(r"\bpip\b.* (install|download)\b|\buv (tool run|run --with)\b|\buvx\b", command)
        and not command.lstrip().startswith("#")
    ]
    assert len(commands) > 6
    # Own packages; or what is held to the versions of a lock from which everything was installed by hash before.
    allowed = re.compile(r'--require-hashes|--no-deps "\$@"|--constraints|-m pip install "\$@"')
    assert [command for command in commands if not allowed.search(command[1])] == []


def a_tree_with(folder, lock):
    """A copy of the scripts, with another lock of tools."""
    (folder / "tools").mkdir()
    for name in ("uv", "locked", "python"):
        shutil.copy(TOP / "tools" / name, folder / "tools" / name)
    (folder / "requirements-tools.lock").write_text(lock)
    return folder


def test_another_file_under_the_name_and_version_of_uv_is_not_installed(tmp_path):
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    version = re.search(r"^uv==(\S+)", (TOP / LOCKS[2]).read_text(), re.MULTILINE)[1]
    with zipfile.ZipFile(wheels / f"uv-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("uv/__init__.py", "")
        wheel.writestr("uv-0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: uv\nVersion: {version}\n")
        wheel.writestr(
            "uv-0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr("uv-0.dist-info/RECORD", "")
    folder = a_tree_with(tmp_path, (TOP / LOCKS[2]).read_text())
    environment = {
        "PATH": os.defpath,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "HOME": str(tmp_path),
    }
    done = subprocess.run(
        [folder / "tools/uv", "--version"], check=False, env=environment, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr
    assert not (folder / f".tools/uv-{version}").exists()


def test_the_bill_of_materials_has_every_locked_package():
    done = subprocess.run([sys.executable, TOP / "tools/sbom.py"], capture_output=True, check=True)
    bill = json.loads(done.stdout)
    assert bill["bomFormat"] == "CycloneDX"
    assert {(each["name"], each["version"]) for each in bill["components"]} == set(locked_versions())
    assert all(each["properties"] for each in bill["components"])


async def vulnerabilities(url):
    """Return exit code and output of `make vulnerabilities`, with the advisory database at the URL."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        TOP / "tools/vulnerabilities.py",
        env=os.environ | {"OSV_URL": url},
        stdout=subprocess.PIPE,
    )
    output, _ = await process.communicate()
    return process.returncode, output.decode()


async def test_a_package_with_an_advisory_is_named(receiver):
    versions = locked_versions()
    results = [{"vulns": [{"id": "PYSEC-1"}]}] + [{}] * (len(versions) - 1)
    receiver.answer(200, body=json.dumps({"results": results}).encode())
    code, output = await vulnerabilities(receiver.url)
    assert (code, output.splitlines()[0]) == (1, f"{' '.join(versions[0])}: PYSEC-1")
    queries = json.loads(receiver.requests[0].body)["queries"]
    assert [(query["package"]["name"], query["version"]) for query in queries] == versions


async def test_advisories_that_cannot_be_reached_are_skipped_with_a_word(receiver):
    receiver.answer(200, body=b"<html>Sign in to this network</html>")
    for url in ("http://127.0.0.1:1", receiver.url):
        code, output = await vulnerabilities(url)
        assert (code, output.startswith(f"skipped: {url} cannot be reached")) == (0, True)
