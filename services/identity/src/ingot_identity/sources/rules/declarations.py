"""Sources that the settings declare."""

from pathlib import Path
from typing import Annotated, Any

import msgspec

from ingot_chassis.settings import SettingsError

SETTING = "INGOT_IDENTITY_SOURCES"


class DeclaredSource(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A source in the settings, with the fields of the API. ``secret_file`` is the path of its secret."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=40)]
    title: Annotated[str, msgspec.Meta(max_length=100)] = ""
    enabled: bool = True
    secret: str = ""
    secret_file: str = ""
    config: dict[str, Any]


def read_declared(setting: str) -> dict[str, dict[str, Any]]:
    """Return the declared sources by name. The setting is JSON, or the path of a JSON file.

    Raises SettingsError. Its message omits the text, which may contain secrets.
    """
    text = setting.strip()
    if not text:
        return {}
    try:
        content = text if text.startswith("[") else Path(text).read_text()
        declared = msgspec.json.decode(content, type=list[DeclaredSource])
        return {source.name.lower(): _fields(source) for source in declared}
    except OSError as error:
        raise SettingsError([f"{SETTING}: the file cannot be read: {error.strerror}"]) from error
    except msgspec.DecodeError as error:
        raise SettingsError([f"{SETTING}: {error}"]) from error


def _fields(source: DeclaredSource) -> dict[str, Any]:
    secret = Path(source.secret_file).read_text().strip() if source.secret_file else source.secret
    return {
        "title": source.title,
        "enabled": source.enabled,
        "secret": secret,
        "config": source.config,
    }
