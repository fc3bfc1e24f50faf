"""Installation of programs by the ordinary clients of their registries, into a folder of their own."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from .program import Install, NotInstalledError

ROOT = Path(__file__).parents[2]
SECONDS = 1_200
NAMESPACE = "http://maven.apache.org/POM/4.0.0"
POM = (
    f'<project xmlns="{NAMESPACE}"><modelVersion>4.0.0</modelVersion><groupId>ingot</groupId>'
    "<artifactId>clients</artifactId><version>1</version><dependencies>{dependencies}</dependencies></project>"
)


def present(_folder: Path) -> None:
    """Nothing to install: the program is part of the development environment."""


def command(name: str) -> Install:
    """A command that the machine has."""

    def install(_folder: Path) -> None:
        if shutil.which(name) is None:
            raise NotInstalledError(f"{name} is not on PATH")

    return install


def python_packages(*requirements: str) -> Install:
    """Packages of Python, each with its exact version."""

    def install(folder: Path) -> None:
        stamp = folder / ".requirements"
        listed = "\n".join(requirements)
        if stamp.exists() and stamp.read_text() == listed:
            return
        call([str(ROOT / "tools/uv"), "pip", "install", "--quiet", "--python", sys.executable, "--target",
              str(folder), *requirements], folder)  # fmt: skip
        stamp.write_text(listed)

    return install


def npm_packages(packages: Mapping[str, str]) -> Install:
    """Packages of npm, each with its exact version."""

    def install(folder: Path) -> None:
        require("npm")
        manifest = json.dumps({"private": True, "dependencies": dict(packages)})
        file = folder / "package.json"
        if file.exists() and file.read_text() == manifest and (folder / ".installed").exists():
            return
        file.write_text(manifest)
        quiet = ("--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error")
        call(["npm", "install", "--prefix", str(folder), *quiet], folder)
        (folder / ".installed").touch()

    return install


def go_program(module: Path, package: str, *, test: bool = False, tags: str = "") -> Install:
    """A program, or the tests of a package, built by Go in a module that pins all versions."""

    def install(folder: Path) -> None:
        require("go")
        build = ["test", "-c", "-vet=off"] if test else ["build"]
        # Without C, of which none is needed: to compile it takes as long as a tenth of the rest.
        arguments = ["-p", "2", "-ldflags=-s -w", f"-tags={tags}", "-o", str(folder / "program"), package]
        call(["go", *build, *arguments], module, CGO_ENABLED="0")

    return install


def maven_packages(*packages: str) -> Install:
    """Packages of Maven, written ``group:name:version``, and what they need."""

    def install(folder: Path) -> None:
        require("mvn")
        require("java")
        dependencies = ""
        for package in packages:
            group, name, version = package.split(":")
            dependencies += (
                f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
                f"<version>{version}</version></dependency>"
            )
        pom = POM.format(dependencies=dependencies)
        file = folder / "pom.xml"
        if file.exists() and file.read_text() == pom and (folder / "lib").is_dir():
            return
        file.write_text(pom)
        call(
            ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={folder / 'lib'}"], folder
        )

    return install


def refused(what: str) -> Install:
    """A program that the registry does not serve."""

    def install(_folder: Path) -> None:
        raise NotInstalledError(what)

    return install


def require(name: str) -> None:
    """Raise NotInstalledError if a tool of a registry is missing."""
    if shutil.which(name) is None:
        raise NotInstalledError(f"{name} is not on PATH")


def call(command: list[str], folder: Path, **variables: str) -> None:
    """Run a command of a registry's client. Raises NotInstalledError if it fails."""
    try:
        ended = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | variables,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NotInstalledError(f"{command[0]} ran for more than {SECONDS} seconds") from error
    if ended.returncode != 0:
        raise NotInstalledError((ended.stderr or ended.stdout).strip()[-2_000:])
