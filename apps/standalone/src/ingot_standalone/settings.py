"""Settings of the `ingot` command; the only reader of its environment.

The command decides the settings that connect the services: databases, keys, NATS. Every other setting of a
service, such as ``INGOT_PAGE_SIZE``, is read from the environment as in a cluster.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from ingot_chassis.settings import ServiceSettings, SettingsError, load

_S = TypeVar("_S", bound=ServiceSettings)
_SHARED = {"shared": True}

DEFAULT_SSH_PORT = 2222
"""If this port is taken, Ingot goes without SSH; any other was asked for."""


class Settings(msgspec.Struct, kw_only=True):
    """Settings of the command itself."""

    host: Annotated[str, msgspec.Meta(description="Address to listen on.", extra=_SHARED)] = "127.0.0.1"
    port: Annotated[
        int, msgspec.Meta(ge=0, le=65535, description="Port to listen on; 0: a free one.", extra=_SHARED)
    ] = 3000
    ssh_port: Annotated[
        int,
        msgspec.Meta(
            ge=0, le=65535, description="Port to listen on for git over SSH; 0: no SSH.", extra=_SHARED
        ),
    ] = DEFAULT_SSH_PORT
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
    token: Annotated[
        str,
        msgspec.Meta(description="Token of the API, for `ingot export` and `ingot import`.", extra=_SHARED),
    ] = ""
    drain_seconds: Annotated[
        int, msgspec.Meta(ge=0, description="Time that running requests get when it ends.", extra=_SHARED)
    ] = 10

    @property
    def folder(self) -> Path:
        return Path(self.data).expanduser().absolute()


def read(options: Mapping[str, Any]) -> Settings:
    """Return the settings of the environment. ``options`` that are not None override them.

    Raises SettingsError.
    """
    settings = load(Settings, "standalone", os.environ)
    return msgspec.structs.replace(
        settings, **{name: value for name, value in options.items() if value is not None}
    )


def is_named(variable: str) -> bool:
    """True if the environment sets a variable to a text that is not empty, even to its default."""
    return bool(os.environ.get(variable))


class ServiceSettingsReader:
    """Reads the settings of each service, and overrides the settings that the command decides."""

    def __init__(self, overrides: Mapping[str, Any]) -> None:
        self._overrides = overrides
        self._errors: list[str] = []

    def read(self, cls: type[_S], service: str, **special: Any) -> _S:
        """Return the settings of ``service``. Errors are collected for ``check``."""
        try:
            settings = load(cls, service, os.environ)
        except SettingsError as error:
            self._errors += error.lines
            settings = cls()
        return msgspec.structs.replace(settings, **self._overrides, **special)

    def check(self) -> None:
        """Raise SettingsError with one line for each wrong variable, even if several services read it."""
        if self._errors:
            raise SettingsError(list(dict.fromkeys(self._errors)))
