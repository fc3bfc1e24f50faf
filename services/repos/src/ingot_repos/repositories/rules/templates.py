"""First contents of a repository: README, .gitignore, licence and labels. The texts are in ``templates/``."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.errors import Invalid
from ingot_contracts.repos.events import FirstLabel

_FOLDER = Path(__file__).parent.parent / "templates"
LICENSE_NAMES = {"0BSD": "BSD Zero Clause License", "MIT": "MIT License", "Unlicense": "The Unlicense"}


def _texts(kind: str) -> dict[str, str]:
    files = sorted((_FOLDER / kind).iterdir(), key=lambda file: file.name.lower())
    return {file.name: file.read_text() for file in files}


GITIGNORES: Mapping[str, str] = _texts("gitignore")
LICENSES: Mapping[str, str] = _texts("license")
"""Texts with the variables ``{year}`` and ``{holder}``."""

LABELS: Mapping[str, list[FirstLabel]] = {
    name: msgspec.json.decode(text, type=list[FirstLabel]) for name, text in _texts("label").items()
}


def named(field: str, name: str, templates: Mapping[str, object]) -> str:
    """Return the exact name of a template. ``name`` may be in any letter case. Raises Invalid."""
    spelled = next((key for key in templates if key.lower() == name.strip().lower()), None)
    if spelled is None:
        raise Invalid.field(field, "unknown", f"there is no template {name.strip()!r}")
    return spelled


def gitignore(names: str) -> str:
    """Return the named templates (separated by commas) as one text. Raises Invalid."""
    keys = [named("gitignores", name, GITIGNORES) for name in names.split(",") if name.strip()]
    return "\n".join(f"# {name}\n{GITIGNORES[name]}" for name in dict.fromkeys(keys))


def licence(name: str, holder: str) -> str:
    """Return the named licence with the current year and ``holder``; empty for no name. Raises Invalid."""
    if not name.strip():
        return ""
    text = LICENSES[named("license", name, LICENSES)]
    return text.replace("{year}", str(now().year)).replace("{holder}", holder)


def labels(name: str) -> list[FirstLabel]:
    """Return the named set of labels; empty for no name. Raises Invalid."""
    return LABELS[named("issue_labels", name, LABELS)] if name.strip() else []


def readme(name: str, title: str, description: str) -> str:
    """Return the named README with title and description. An empty name means "default". Raises Invalid."""
    if name.strip().lower() not in ("", "default"):
        raise Invalid.field("readme", "unknown", f"there is no template {name.strip()!r}")
    return f"# {title}\n" + (f"\n{description}" if description else "")


def first_files(readme_text: str, gitignore_text: str, licence_text: str) -> dict[str, str]:
    """Return the files of the first commit by path. Empty texts are omitted."""
    files = {"README.md": readme_text, ".gitignore": gitignore_text, "LICENSE": licence_text}
    return {path: text for path, text in files.items() if text}
