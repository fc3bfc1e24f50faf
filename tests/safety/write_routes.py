"""Update ``routes.txt`` from the routes of the services: ``python -m tests.safety.write_routes``.

It removes lines of deleted routes. New routes go below ``[?]``, with the scope that they declare. Move each
below its policy, and add the word about the audit log. Policies are always written by hand.
"""

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from .apps import public_policies
from .routes import REPOSITORY, UNDECIDED, full_name

TABLE = Path(__file__).with_name("routes.txt")


def short_name(name: str) -> str:
    """``METHOD path`` as the table writes it."""
    method, path = name.split()
    if path == REPOSITORY or path.startswith(REPOSITORY + "/"):
        return f"{method} ~{path.removeprefix(REPOSITORY)}"
    return f"{method} {path.removeprefix('/api/v1') if path.startswith('/api/v1/') else '/' + path}"


def updated(lines: Iterable[str], scopes: Mapping[str, str]) -> list[str]:
    """The lines of the table for the routes of ``scopes``, each with the scope that it declares."""
    lines_left, listed = [], set()
    for line in lines:
        if line and not line.startswith(("#", "[")):
            name = full_name(" ".join(line.split()[:2]))
            if name not in scopes:
                continue
            listed.add(name)
        lines_left.append(line)
    new = [f"{short_name(name)} {scopes[name]}".rstrip() for name in sorted(scopes.keys() - listed)]
    return [*lines_left, "", UNDECIDED, *new] if new else lines_left


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        scopes = {name: policy.scope for name, policy in public_policies(Path(folder)).items()}
    TABLE.write_text("\n".join(updated(TABLE.read_text().splitlines(), scopes)) + "\n")
