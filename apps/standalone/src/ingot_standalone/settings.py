"""Settings of the `ingot` command; the only reader of its environment.

The command decides what joins the five services (databases, keys, NATS); any other variable that a service
knows, such as ``INGOT_PAGE_SIZE``, reaches it unchanged.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from ingot_chassis.settings import ServiceSettings, SettingsError, load

_S = TypeVar("_S", bound=ServiceSettings)
_SHARED = {"shared": True}


class Settings(msgspec.Struct, kw_only=True):
    """What the command itself reads."""

    host: Annotated[str, msgspec.Meta(description="Address to listen on.", extra=_SHARED)] = "127.0.0.1"
    port: Annotated[
        int, msgspec.Meta(ge=0, le=65535, description="Port to listen on; 0: a free one.", extra=_SHARED)
    ] = 3000
    data: Annotated[str, msgspec.Meta(description="Folder of everything that is kept.", extra=_SHARED)] = (
        "./data"
    )
    public_url: Annotated[
        str,
        msgspec.Meta(description="Root URL that users see; empty: http://host:port/.", extra=_SHARED),
    ] = ""
    admin_username: Annotated[
        str, msgspec.Meta(description="Name of the first administrator.", extra=_SHARED)
    ] = "root"
    admin_password: Annotated[
        str, msgspec.Meta(description="Their password; empty: one is made and printed once.", extra=_SHARED)
    ] = ""
    admin_email: Annotated[
        str, msgspec.Meta(description="Address of the first administrator.", extra=_SHARED)
    ] = "root@localhost.localdomain"
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        msgspec.Meta(description="debug, info (a line per request), warning or error.", extra=_SHARED),
    ] = "warning"
    otlp_endpoint: Annotated[
        str, msgspec.Meta(description="OTLP/HTTP endpoint for traces; empty: none.", extra=_SHARED)
    ] = ""
    drain_seconds: Annotated[
        int, msgspec.Meta(ge=0, description="Time that running requests get when it ends.", extra=_SHARED)
    ] = 10

    @property
    def folder(self) -> Path:
        return Path(self.data).expanduser().absolute()


def read(given: Mapping[str, Any]) -> Settings:
    """The environment, overridden by the options in ``given`` that are not None. Raises SettingsError."""
    settings = load(Settings, "standalone", os.environ)
    options = {name: value for name, value in given.items() if value is not None}
    return msgspec.structs.replace(settings, **options)


class ForServices:
    """Reads the settings of each service and lays what the command decided over them."""

    def __init__(self, decided: Mapping[str, Any]) -> None:
        self._decided = decided
        self._wrong: list[str] = []

    def read(self, cls: type[_S], service: str, **special: Any) -> _S:
        """The settings of ``service``; what is wrong with them is kept for ``check``."""
        try:
            settings = load(cls, service, os.environ)
        except SettingsError as error:
            self._wrong += error.lines
            settings = cls()
        return msgspec.structs.replace(settings, **self._decided, **special)

    def check(self) -> None:
        """Raises SettingsError naming each wrong variable once, however many services read it."""
        if self._wrong:
            raise SettingsError(list(dict.fromkeys(self._wrong)))
