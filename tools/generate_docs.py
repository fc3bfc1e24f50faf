"""Write generated pages and sections of docs/reference, pictures of docs/explanation, and dashboards.

Usage: python tools/generate_docs.py [--check]. With --check, write nothing and exit with 1 if a page is
stale.
"""

import argparse
import importlib
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import generate_dashboards
import generated_sections
import msgspec
import pictures
import reference_pages

from ingot_chassis.settings import ServiceSettings, Variable, variables
from ingot_contracts.topology import SERVICES

ROOT = Path(__file__).parent.parent
SETTINGS_PAGE = ROOT / "docs/reference/settings.md"
TYPES = {
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "true or false",
    "list[str]": "list",
    "dict[str, str]": "list of name=value",
}

INTRODUCTION = """\
# Settings

This page is written by `make docs` from the settings of the code. Change it there.

Every process reads its settings from the environment, once, when it starts. A process with an invalid value
does not start. It exits with code 2 and prints one line for each invalid variable. Lists are written with
commas. `true` and `false` may also be `1` and `0`.

There are two kinds of names:

- `INGOT_<NAME>` is shared: every service reads it, and all services of one installation get the same value.
- `INGOT_<SERVICE>_<NAME>` belongs to one service.

Some settings have no default and must be set for a service that runs by itself:

- its `…_PRIVATE_KEY`, and `INGOT_PUBLIC_KEYS`;
- the `…_DATABASE_URL` of identity, repos, issues, hooks and mail;
- the `…_SEALING_KEY` of identity, repos, hooks and mail;
- `INGOT_REPOS_STORAGE_ROOT`.

`ingot up` makes or chooses all of these.
"""

UP = """\
## `ingot up`

The command reads these variables. Its options `--host`, `--port` and `--data` take precedence.
"""

UP_PASSES_ON = """\
`ingot up` chooses the settings that connect the services: hosts and ports, databases, keys, NATS, the URLs of
peers, the store and the storage root. It ignores variables for these. It passes on every other setting below.
"""

SHARED = """\
## Shared by all services
"""


def settings_page() -> str:
    """The whole of docs/reference/settings.md."""
    up = importlib.import_module("ingot_standalone.settings").Settings
    shared = [variable for variable in variables(ServiceSettings, "any") if variable.shared]
    parts = [INTRODUCTION, UP, _table(variables(up, "standalone")), UP_PASSES_ON, SHARED, _table(shared)]
    for service in SERVICES:
        settings: type[msgspec.Struct] = importlib.import_module(f"ingot_{service}.settings").Settings
        own = [variable for variable in variables(settings, service) if not variable.shared]
        parts += [f"## {service}\n", _table(own)]
    return "\n".join(parts)


def _table(rows: Iterable[Variable]) -> str:
    lines = ["| variable | type | default | |", "|---|---|---|---|"]
    for row in rows:
        default = f"`{row.default}`" if row.default else ""
        former = f" Formerly `{'`, `'.join(row.aliases)}`." if row.aliases else ""
        cells = (f"`{row.name}`", _type_words(row.type), default, row.description + former)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _type_words(name: str) -> str:
    """A type in the words of an operator; of a choice, its values."""
    choices = re.fullmatch(r"typing\.Literal\[(.*)\]", name)
    if choices:
        return "one of " + ", ".join(f"`{choice}`" for choice in re.findall(r"'([^']*)'", choices.group(1)))
    return TYPES.get(name, name)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; code 1 if a page is stale")
    check = parser.parse_args(arguments).check
    stale = 0
    own = [(SETTINGS_PAGE, settings_page()), *reference_pages.pages(), *pictures.pages()]
    generated = [*own, *generated_sections.pages(), *generate_dashboards.pages()]
    for file, page in generated:
        if file.exists() and file.read_text() == page:
            continue
        name = file.relative_to(ROOT)
        if check:
            print(f"{name} is stale", file=sys.stderr)
            stale = 1
            continue
        file.parent.mkdir(exist_ok=True)
        file.write_text(page)
        print(f"wrote {name}")
    return stale


if __name__ == "__main__":
    sys.exit(main())
