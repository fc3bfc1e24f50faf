"""Settings: one struct per service, filled from the environment. All errors are reported at once.

A field that is marked shared has one value for all services: its variable is ``INGOT_<FIELD>``. Other
variables are ``INGOT_<SERVICE>_<FIELD>``. The text of the field's ``msgspec.Meta`` is its documentation. A
renamed field has its former names in ``extra={"aliases": [...]}``, and their variables are read as well.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

_S = TypeVar("_S", bound=msgspec.Struct)
_SHARED: dict[str, Any] = {"shared": True}
_WEB_URL = r"^https?://[^\s<>\"]+$"


class SettingsError(Exception):
    """A setting is missing or invalid. ``lines`` has one sentence for each such setting."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("; ".join(lines))
        self.lines = lines


def is_redis(store_url: str) -> bool:
    """Return whether the shared store is Redis. Otherwise it is memory://, one store per process.

    Raises SettingsError.
    """
    if store_url == "memory://":
        return False
    if store_url.startswith(("redis://", "rediss://", "unix://")):
        return True
    raise SettingsError([f"INGOT_STORE_URL={store_url!r}: memory:// or redis://… is expected"])


class ServiceSettings(msgspec.Struct, kw_only=True):
    """Settings of every service."""

    database_url: Annotated[
        str,
        msgspec.Meta(description="Database: postgresql+asyncpg://… or sqlite+aiosqlite:///…"),
    ] = ""
    database_pool: Annotated[
        int, msgspec.Meta(ge=1, le=500, description="Connections kept for writing, and as many for reading.")
    ] = 10
    host: Annotated[str, msgspec.Meta(description="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=0, le=65535, description="Port to listen on.")] = 8080
    metrics_port: Annotated[
        int, msgspec.Meta(ge=0, le=65535, description="Port of `/metrics` alone; 0: that of HTTP plus 1000.")
    ] = 0
    metrics_host: Annotated[
        str, msgspec.Meta(description="Address on which `/metrics` is served.", extra=_SHARED)
    ] = "127.0.0.1"
    metrics_public: Annotated[
        bool,
        msgspec.Meta(
            description="Whether `/metrics` is also on the port of HTTP, where anybody may read it.",
            extra=_SHARED,
        ),
    ] = False
    private_key: Annotated[
        str,
        msgspec.Meta(description="Ed25519 key of this service (32 bytes, base64url); signs calls to peers."),
    ] = ""
    background: Annotated[
        bool,
        msgspec.Meta(description="Whether `serve` also runs relay, consumers and workers in its process."),
    ] = True
    public_keys: Annotated[
        dict[str, str],
        msgspec.Meta(
            description="Ed25519 public keys of the services that may call: name=base64url, by comma.",
            extra=_SHARED,
        ),
    ] = {}
    nats_url: Annotated[str, msgspec.Meta(description="NATS server with JetStream.", extra=_SHARED)] = (
        "nats://127.0.0.1:4222"
    )
    stream_replicas: Annotated[
        int, msgspec.Meta(ge=1, le=5, description="Copies of each JetStream stream.", extra=_SHARED)
    ] = 1
    store_url: Annotated[
        str, msgspec.Meta(description="Shared store: redis://… or memory://", extra=_SHARED)
    ] = "memory://"
    objects_url: Annotated[
        str,
        msgspec.Meta(
            description="Storage of uploaded files: file:///folder, or "
            "s3://bucket/path?endpoint=https://host&region=name. "
            "Empty: the storage folder of a service that has one.",
            extra=_SHARED,
        ),
    ] = ""
    objects_key_id: Annotated[
        str,
        msgspec.Meta(
            description="Access key of the S3-compatible storage; empty: that of the machine.", extra=_SHARED
        ),
    ] = ""
    objects_secret: Annotated[
        str, msgspec.Meta(description="The secret of that access key.", extra=_SHARED)
    ] = ""
    max_attachment_bytes: Annotated[
        int,
        msgspec.Meta(
            ge=1,
            description="Size of the largest attachment, in bytes. There are attachments where "
            "`INGOT_OBJECTS_URL` is set.",
            extra=_SHARED,
        ),
    ] = 104_857_600
    max_attachments: Annotated[
        int,
        msgspec.Meta(ge=1, le=100, description="Attachments that one text may have.", extra=_SHARED),
    ] = 5
    attachment_types: Annotated[
        list[str],
        msgspec.Meta(
            description="Endings that names of attachments must have (.png, .log), by comma; none: all.",
            extra=_SHARED,
        ),
    ] = []
    lfs_enabled: Annotated[
        bool,
        msgspec.Meta(
            description="Whether large files (LFS) are served, stored and imported. Stored files are kept.",
            extra=_SHARED,
        ),
    ] = True
    sends_mail: Annotated[
        bool,
        msgspec.Meta(
            description="Whether mail has an SMTP server (`INGOT_MAIL_SMTP_HOST`). Then addresses are "
            "confirmed by mail. `ingot up` sets it by itself.",
            extra=_SHARED,
        ),
    ] = False
    git_clients_enabled: Annotated[
        bool,
        msgspec.Meta(
            description="Whether git-credential-oauth, Git Credential Manager and tea sign people in with a "
            "browser: they are registered as OAuth2 applications, and git's 401 has the realm they look for.",
            extra=_SHARED,
        ),
    ] = True
    public_url: Annotated[
        str,
        msgspec.Meta(
            pattern="^https?://[^/]+(/.*)?$",
            description="Root URL that users see, with or without the last slash.",
            extra=_SHARED,
        ),
    ] = "http://127.0.0.1:3000/"
    site_name: Annotated[
        str,
        msgspec.Meta(
            min_length=1,
            max_length=60,
            description="The name of this site, on every page.",
            extra=_SHARED | {"aliases": ["web_site_name"]},
        ),
    ] = "Ingot"
    site_logo: Annotated[
        str,
        msgspec.Meta(
            description="Logo of this site: a file that web reads, or a data URL; PNG, JPEG, GIF or WebP, at "
            "most 64 KiB. Empty: that of Ingot.",
            extra=_SHARED,
        ),
    ] = ""
    site_links: Annotated[
        dict[
            Annotated[str, msgspec.Meta(min_length=1, max_length=40)],
            Annotated[str, msgspec.Meta(max_length=500, pattern=_WEB_URL)],
        ],
        msgspec.Meta(
            max_length=10,
            description="Links in the footer of every page, as title=URL, separated by commas; at most 10.",
            extra=_SHARED,
        ),
    ] = msgspec.field(default_factory=dict)
    site_terms: Annotated[
        str,
        msgspec.Meta(
            max_length=500,
            pattern=f"{_WEB_URL}|^$",
            description="URL of the terms of this site, a link in the footer; empty: none.",
            extra=_SHARED,
        ),
    ] = ""
    site_notice: Annotated[
        str,
        msgspec.Meta(
            max_length=500, description="Text of a notice above every page; empty: none.", extra=_SHARED
        ),
    ] = ""
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        msgspec.Meta(description="debug, info, warning or error.", extra=_SHARED),
    ] = "info"
    otlp_endpoint: Annotated[
        str, msgspec.Meta(description="OTLP/HTTP endpoint for traces; empty: none.", extra=_SHARED)
    ] = ""
    page_size: Annotated[
        int, msgspec.Meta(ge=1, le=50, description="Rows on a page when `limit` is absent.", extra=_SHARED)
    ] = 30
    audit_days: Annotated[
        int,
        msgspec.Meta(ge=1, le=36_500, description="Days for which the audit log is kept.", extra=_SHARED),
    ] = 365
    drain_seconds: Annotated[
        int, msgspec.Meta(ge=0, description="Seconds that running requests get on SIGTERM.", extra=_SHARED)
    ] = 30
    handover_seconds: Annotated[
        float,
        msgspec.Meta(
            ge=0,
            description="Seconds. On SIGTERM, before draining, the process answers requests and closes their "
            "connections until none arrives for this time. Load balancers must forget it within this time.",
            extra=_SHARED,
        ),
    ] = 0.0
    handover_limit_seconds: Annotated[
        float,
        msgspec.Meta(
            ge=0,
            description="Seconds of the handover at most, if requests keep arriving. A new process should "
            "start within this time.",
            extra=_SHARED,
        ),
    ] = 120.0
    connect_seconds: Annotated[
        float,
        msgspec.Meta(
            ge=0,
            description="Seconds that a request waits for an unreachable service, which may be restarting.",
        ),
    ] = 10.0
    waiting_requests: Annotated[
        int, msgspec.Meta(ge=0, description="Requests of a process that may wait for one such service.")
    ] = 500

    def __post_init__(self) -> None:
        """Add the last slash to the root URL, because paths are appended to it."""
        self.public_url = self.public_url.rstrip("/") + "/"


class Variable(msgspec.Struct, frozen=True):
    """The documentation of a setting."""

    name: str
    type: str
    default: str
    description: str
    shared: bool
    aliases: tuple[str, ...] = ()


def variables(cls: type[msgspec.Struct], service: str) -> Iterator[Variable]:
    """Yield every variable that ``load`` reads for ``cls``, in declaration order."""
    hints = get_type_hints(cls, include_extras=True)
    for field in msgspec.structs.fields(cls):
        meta = _meta(hints[field.name])
        extra = (meta.extra if meta else None) or {}
        shared = bool(extra.get("shared"))
        prefix = "INGOT_" if shared else f"INGOT_{service.upper()}_"
        default: Any = field.default
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        yield Variable(
            name=prefix + field.name.upper(),
            type=_type_name(field.type),
            default="required" if default is msgspec.NODEFAULT else _text(default),
            description=(meta.description if meta and meta.description else ""),
            shared=shared,
            aliases=tuple(prefix + alias.upper() for alias in extra.get("aliases", ())),
        )


def load(cls: type[_S], service: str, environ: Mapping[str, str]) -> _S:
    """Fill ``cls`` from ``environ``. Raises SettingsError with every invalid variable."""
    values: dict[str, Any] = {}
    errors: list[str] = []
    hints = get_type_hints(cls, include_extras=True)
    for field, variable in zip(msgspec.structs.fields(cls), variables(cls, service), strict=True):
        names = [name for name in (variable.name, *variable.aliases) if name in environ]
        if not names:
            if variable.default == "required":
                errors.append(f"{variable.name} is not set ({variable.description})")
            continue
        text = environ[names[0]]
        if not text and _bare(hints[field.name]) is bool:
            continue  # as Compose leaves a variable that depends on another one
        try:
            values[field.name] = msgspec.convert(
                _parsed(text, hints[field.name]), hints[field.name], strict=False
            )
        except (msgspec.ValidationError, ValueError) as error:
            errors.append(f"{names[0]}={text!r}: {error}")
    if errors:
        raise SettingsError(errors)
    return cls(**values)


def _parsed(text: str, hint: Any) -> Any:
    bare = _bare(hint)
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if get_origin(bare) is list:
        return parts
    if get_origin(bare) is dict:
        if not all("=" in part for part in parts):
            raise ValueError("name=value, by comma, is expected")
        return dict(part.split("=", 1) for part in parts)
    return text


def _bare(hint: Any) -> Any:
    """Return the type without its limits and description."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _meta(hint: Any) -> msgspec.Meta | None:
    if get_origin(hint) is not Annotated:
        return None
    return next((m for m in get_args(hint)[1:] if isinstance(m, msgspec.Meta)), None)


def _type_name(hint: Any) -> str:
    bare = _bare(hint)
    origin = get_origin(bare)
    if origin in (list, dict):
        return f"{origin.__name__}[{', '.join(map(_type_name, get_args(bare)))}]"
    return getattr(bare, "__name__", str(bare)) if origin is None else str(bare)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    if isinstance(value, dict):
        return ",".join(f"{k}={v}" for k, v in value.items())
    return str(value).lower() if isinstance(value, bool) else str(value)
