"""Install client programs, run them against Ingot, and print a row for each.

``python -m tests.clients.run [--write] [NAME …]`` from the top of the repository. Programs are installed into
``.tools/clients``, which git ignores. With ``--write`` it writes the rows into docs/reference/clients.md and
keeps the rows of programs that did not run. Exit code 1 if a check failed.
"""

import argparse
import contextlib
import importlib
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import httpx

from ..e2e.deployments import Standalone, running
from .program import Check, Instance, NotInstalledError, Outcome, Program

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/clients.md"
INSTALLED = ROOT / ".tools/clients"
SHARED = {"INGOT_REPOS_STATUSES_OF_COMMITS": "list"}
"""Settings of the instance that programs share."""
SECTIONS = ("programs", "checks")
REASON_SHOWN = 160
TOKEN_TRIES = 10


@dataclass(frozen=True)
class Report:
    """One program that ran, or the word why it did not."""

    program: Program
    checks: Sequence[Check] = ()
    not_installed: str = ""

    def count(self, outcome: Outcome) -> int:
        return sum(check.outcome is outcome for check in self.checks)

    def row(self) -> str:
        """Its line of the first table."""
        program = self.program
        head = f"| {program.name} | {program.version} | {program.registry} | {program.runs}"
        if self.not_installed:
            return f"{head} | | | | {cell(self.not_installed)} |"
        counts = " | ".join(str(self.count(outcome)) for outcome in Outcome)
        return f"{head} | {counts} | |"

    def rest(self) -> list[str]:
        """A line of the second table for each check that did not pass."""
        return [
            f"| {self.program.name} | {cell(check.name)} | {check.outcome} | {cell(check.reason)} |"
            for check in self.checks
            if check.outcome is not Outcome.PASSED
        ]


def cell(text: str) -> str:
    """The text as a cell of a table in Markdown: one line, without hosts."""
    line = re.sub(r"https?://\S+", "…", " ".join(text.split()))
    return line.replace("|", "\\|").replace("<", "&lt;")[:REASON_SHOWN]


def programs() -> list[Program]:
    """Every program, by the name of its folder, and then those that the registries do not serve."""
    folder = Path(__file__).parent / "programs"
    names = sorted(file.parent.name for file in folder.glob("*/program.py"))
    modules = [importlib.import_module(f".programs.{name}.program", __package__) for name in names]
    refused = importlib.import_module(".programs.refused", __package__)
    return [*(module.PROGRAM for module in modules), *refused.PROGRAMS]


def create_token(url: str, administrator: tuple[str, str]) -> str:
    """A token of the administrator. Services of an instance on a loaded machine may need a minute to meet."""
    name, _password = administrator
    token = {"name": "gitea-admin", "scopes": ["all"]}  # a test of the Go SDK counts it
    for _ in range(TOKEN_TRIES):
        created = httpx.post(f"{url}api/v1/users/{name}/tokens", json=token, auth=administrator, timeout=60)
        if created.status_code != httpx.codes.SERVICE_UNAVAILABLE:
            break
    secret: str = created.raise_for_status().json()["sha1"]
    return secret


@contextlib.contextmanager
def instance_for(variables: Mapping[str, str], administrator: tuple[str, str]) -> Iterator[Instance]:
    """A running Ingot with these settings."""
    name, password = administrator
    with tempfile.TemporaryDirectory(prefix="ingot-clients-") as folder:
        top = Path(folder)
        account = {
            "INGOT_ADMIN_USERNAME": name,
            "INGOT_ADMIN_PASSWORD": password,
            "INGOT_ADMIN_EMAIL": f"{name}@gitea.io",
        }
        deployment = Standalone(top, {**account, **variables})
        with running(deployment):
            yield Instance(
                url=deployment.url,
                ssh_port=deployment.serve_ssh(),
                user=name,
                password=password,
                token=create_token(deployment.url, administrator),
                folder=top,
            )


def run(program: Program, instance: Instance) -> Report:
    """Run an installed program in an empty folder."""
    folder = instance.folder / "homes" / program.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return Report(program, program.checks(INSTALLED / program.name, replace(instance, folder=folder)))


def run_all(chosen: Sequence[Program]) -> Iterator[Report]:
    """Install and run programs. Those without settings of their own share one instance."""
    installed = []
    for program in chosen:
        folder = INSTALLED / program.name
        folder.mkdir(parents=True, exist_ok=True)
        try:
            program.install(folder)
        except NotInstalledError as error:
            yield Report(program, not_installed=f"not installed: {error}")
        else:
            installed.append(program)
    sharing = [program for program in installed if not program.variables]
    if sharing:
        with instance_for(SHARED, sharing[0].administrator) as instance:
            for program in sharing:
                yield run(program, instance)
    for program in installed:
        if program.variables:
            with instance_for(program.variables, program.administrator) as instance:
                yield run(program, instance)


def write(reports: Sequence[Report], page: str) -> str:
    """The page with new rows for the programs that ran; others keep theirs."""
    ran = {report.program.name for report in reports}
    order = [program.name for program in programs()]
    for section in SECTIONS:
        start, end = f"<!-- begin {section} -->\n", f"<!-- end {section} -->"
        before, start_marker, rest = page.partition(start)
        body, closed, after = rest.partition(end)
        if not (start_marker and closed):
            raise SystemExit(f"{PAGE.name} has no section {section!r}")
        lines = body.splitlines()
        head, old = lines[:2], lines[2:]
        others = [line for line in old if name_of(line) not in ran and name_of(line) in order]
        new = [
            line
            for report in reports
            for line in ([report.row()] if section == "programs" else report.rest())
        ]
        rows = sorted([*others, *new], key=lambda line: order.index(name_of(line)))
        page = before + start + "\n".join([*head, *rows]) + "\n" + end + after
    return page


def name_of(line: str) -> str:
    """The first cell of a row."""
    return line.split("|")[1].strip()


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the rows into docs/reference/clients.md")
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs to run; all without one")
    options = parser.parse_args(arguments)
    every = programs()
    unknown = set(options.names) - {program.name for program in every}
    if unknown:
        parser.error(f"no such program: {', '.join(sorted(unknown))}")
    reports = []
    for report in run_all(
        [program for program in every if not options.names or program.name in options.names]
    ):
        reports.append(report)
        print("\n".join([report.row(), *(f"    {line}" for line in report.rest())]), flush=True)
        if options.write:
            PAGE.write_text(write([report], PAGE.read_text()))
    return int(any(report.count(Outcome.FAILED) for report in reports))


if __name__ == "__main__":
    sys.exit(main())
