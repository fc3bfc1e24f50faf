"""With what a new repository begins: README, .gitignore, licence and labels. The texts are in ``templates/``."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.errors import Invalid
from ingot_contracts.repos import FirstLabel

_FOLDER = Path(__file__).parent.parent / "templates"
LICENSE_NAMES = {"0BSD": "BSD Zero Clause License", "MIT": "MIT License", "Unlicense": "The Unlicense"}


def _texts(kind: str) -> dict[str, str]:
    files = sorted((_FOLDER / kind).iterdir(), key=lambda file: file.name.lower())
    return {file.name: file.read_text() for file in files}


GITIGNORES: Mapping[str, str] = _texts("gitignore")
LICENSES: Mapping[str, str] = _texts("license")
"""With ``{year}`` and ``{holder}`` to be filled in."""

LABELS: Mapping[str, list[FirstLabel]] = {
    name: msgspec.json.decode(text, type=list[FirstLabel]) for name, text in _texts("label").items()
}


def named(field: str, name: str, templates: Mapping[str, object]) -> str:
    """The name of a template as it is spelled, whatever its letter case. Raises Invalid."""
    spelled = next((key for key in templates if key.lower() == name.strip().lower()), None)
    if spelled is None:
        raise Invalid.field(field, "unknown", f"there is no template {name.strip()!r}")
    return spelled


def gitignore(names: str) -> str:
    """The templates of ``names`` (by comma), one after the other. Raises Invalid."""
    keys = [named("gitignores", name, GITIGNORES) for name in names.split(",") if name.strip()]
    return "\n".join(f"# {name}\n{GITIGNORES[name]}" for name in dict.fromkeys(keys))


def licence(name: str, holder: str) -> str:
    """The licence of that name, with this year and ``holder`` filled in. Raises Invalid."""
    text = LICENSES[named("license", name, LICENSES)]
    return text.replace("{year}", str(now().year)).replace("{holder}", holder)


def labels(name: str) -> list[FirstLabel]:
    """The set of labels of that name; none without a name. Raises Invalid."""
    return LABELS[named("issue_labels", name, LABELS)] if name.strip() else []


def readme(name: str, title: str, description: str) -> str:
    """The README of that name: "default", or empty for the same. Raises Invalid."""
    if name.strip().lower() not in ("", "default"):
        raise Invalid.field("readme", "unknown", f"there is no template {name.strip()!r}")
    return f"# {title}\n" + (f"\n{description}" if description else "")
