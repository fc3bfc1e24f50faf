"""What a new repository may begin with: a README, a .gitignore, a licence. The texts are in ``templates/``."""

from collections.abc import Mapping
from pathlib import Path

from ingot_chassis.errors import Invalid
from ingot_chassis.tables import now

_FOLDER = Path(__file__).parent.parent / "templates"
LICENSE_NAMES = {"0BSD": "BSD Zero Clause License", "MIT": "MIT License", "Unlicense": "The Unlicense"}


def _texts(kind: str) -> dict[str, str]:
    files = sorted((_FOLDER / kind).iterdir(), key=lambda file: file.name.lower())
    return {file.name: file.read_text() for file in files}


GITIGNORES: Mapping[str, str] = _texts("gitignore")
LICENSES: Mapping[str, str] = _texts("license")
"""With ``{year}`` and ``{holder}`` to be filled in."""


def named(field: str, name: str, templates: Mapping[str, str]) -> str:
    """The name of a template as it is spelled, whatever its letter case. Raises Invalid."""
    found = next((known for known in templates if known.lower() == name.strip().lower()), None)
    if found is None:
        raise Invalid.field(field, "unknown", f"there is no template {name.strip()!r}")
    return found


def gitignore(names: str) -> str:
    """The templates of these names, by comma, one after the other. Raises Invalid."""
    wanted = [named("gitignores", name, GITIGNORES) for name in names.split(",") if name.strip()]
    return "\n".join(f"# {name}\n{GITIGNORES[name]}" for name in dict.fromkeys(wanted))


def licence(name: str, holder: str) -> str:
    """The licence of that name, granted by ``holder`` this year. Raises Invalid."""
    text = LICENSES[named("license", name, LICENSES)]
    return text.replace("{year}", str(now().year)).replace("{holder}", holder)


def readme(name: str, title: str, description: str) -> str:
    """The README of that name; empty means the default one, which is the only one. Raises Invalid."""
    if name.strip().lower() not in ("", "default"):
        raise Invalid.field("readme", "unknown", f"there is no template {name.strip()!r}")
    return f"# {title}\n" + (f"\n{description}\n" if description else "")
