"""Settings that clients read first: sizes of pages and files, disabled features, name of the software."""

from typing import get_args

import msgspec
from litestar import Response, get

from ingot_chassis.http.paging import MAX_LIMIT
from ingot_chassis.http.policy import anyone
from ingot_contracts.issues.reactions import ReactionContent
from ingot_contracts.limits import CONTENT_BYTES, TREE_ENTRIES
from ingot_gateway.api.request import GatewayRequest
from ingot_gateway.api.version import OWN

NODE_INFO = "http://nodeinfo.diaspora.software/ns/schema/2.1"
"""The name of the format of ``NodeInfo``."""


class GeneralAPISettings(msgspec.Struct, frozen=True):
    """Limits of one response of the API. Sizes are in bytes."""

    max_response_items: int
    default_paging_num: int
    default_git_trees_per_page: int = TREE_ENTRIES
    default_max_blob_size: int = CONTENT_BYTES
    default_max_response_size: int = CONTENT_BYTES


class GeneralRepoSettings(msgspec.Struct, frozen=True):
    """Features that are disabled for all repositories."""

    lfs_disabled: bool
    mirrors_disabled: bool = False
    http_git_disabled: bool = False
    migrations_disabled: bool = False
    stars_disabled: bool = False
    time_tracking_disabled: bool = False


class GeneralUISettings(msgspec.Struct, frozen=True):
    """Settings of the appearance of pages. The default theme follows the settings of the system.

    Custom emojis do not exist.
    """

    default_theme: str = "gitea-auto"
    allowed_reactions: tuple[str, ...] = get_args(ReactionContent)
    custom_emojis: tuple[str, ...] = ()


class GeneralAttachmentSettings(msgspec.Struct, frozen=True):
    """Settings of files attached to issues and comments. ``max_size`` is in MiB."""

    enabled: bool = False
    allowed_types: str = ""
    max_size: int = 0
    max_files: int = 0


class NodeInfoSoftware(msgspec.Struct, frozen=True):
    """Name and version of the software."""

    name: str
    version: str
    repository: str = ""
    homepage: str = ""


class NodeInfoServices(msgspec.Struct, frozen=True):
    """Networks that this server is connected to: none."""

    inbound: tuple[str, ...] = ()
    outbound: tuple[str, ...] = ()


class NodeInfoUsage(msgspec.Struct, frozen=True):
    """Usage statistics without numbers, because the numbers are not public."""

    users: dict[str, int]


class NodeInfo(msgspec.Struct, frozen=True, rename="camel"):
    """The document of nodeinfo 2.1. ``protocols`` lists protocols of social networks; Ingot supports none."""

    software: NodeInfoSoftware
    services: NodeInfoServices
    usage: NodeInfoUsage
    metadata: dict[str, str]
    version: str = "2.1"
    protocols: tuple[str, ...] = ()
    open_registrations: bool = False


class NodeInfoLink(msgspec.Struct, frozen=True):
    """A link to the nodeinfo document of one version."""

    rel: str
    href: str


class NodeInfoLinks(msgspec.Struct, frozen=True):
    """Links to the nodeinfo documents."""

    links: tuple[NodeInfoLink, ...]


@get("/api/v1/settings/api", policy=anyone(), operation_id="getGeneralAPISettings", tags=["settings"])
async def show_api_settings(request: GatewayRequest) -> GeneralAPISettings:
    """Get the limits of one response of the API."""
    return GeneralAPISettings(MAX_LIMIT, request.settings.page_size)


@get(
    "/api/v1/settings/repository",
    policy=anyone(),
    operation_id="getGeneralRepositorySettings",
    tags=["settings"],
)
async def show_repository_settings(request: GatewayRequest) -> GeneralRepoSettings:
    """Get the features that are disabled for all repositories."""
    return GeneralRepoSettings(lfs_disabled=not request.settings.lfs_enabled)


@get("/api/v1/settings/ui", policy=anyone(), operation_id="getGeneralUISettings", tags=["settings"])
async def show_ui_settings() -> GeneralUISettings:
    """Get settings of the appearance of pages."""
    return GeneralUISettings()


@get(
    "/api/v1/settings/attachment",
    policy=anyone(),
    operation_id="getGeneralAttachmentSettings",
    tags=["settings"],
)
async def show_attachment_settings(request: GatewayRequest) -> GeneralAttachmentSettings:
    """Get the limits for files attached to issues and comments.

    `enabled` is false if the server has no storage for files. `allowed_types` has the media types, `*/*` for
    any type. `max_size` is in MiB, as clients expect.
    """
    settings = request.settings
    if not settings.objects_url:
        return GeneralAttachmentSettings()
    return GeneralAttachmentSettings(
        enabled=True,
        allowed_types=",".join(settings.attachment_types) or "*/*",
        max_size=max(1, settings.max_attachment_bytes // 2**20),
        max_files=settings.max_attachments,
    )


@get("/api/v1/nodeinfo", policy=anyone(), operation_id="getNodeInfo", tags=["miscellaneous"])
async def show_node_info(request: GatewayRequest) -> Response[NodeInfo]:
    """Get name and version of the software in the format nodeinfo 2.1."""
    software = NodeInfoSoftware("ingot", OWN, homepage=request.settings.public_url)
    info = NodeInfo(software, NodeInfoServices(), NodeInfoUsage({}), metadata={})
    return Response(info, media_type=f'application/json; profile="{NODE_INFO}#"')


@get("/.well-known/nodeinfo", policy=anyone(), include_in_schema=False)
async def show_node_info_links(request: GatewayRequest) -> NodeInfoLinks:
    """Get the links to the nodeinfo document."""
    return NodeInfoLinks((NodeInfoLink(NODE_INFO, f"{request.settings.public_url}api/v1/nodeinfo"),))


routes = [
    show_api_settings,
    show_repository_settings,
    show_ui_settings,
    show_attachment_settings,
    show_node_info,
    show_node_info_links,
]
