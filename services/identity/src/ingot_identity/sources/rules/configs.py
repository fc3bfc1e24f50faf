"""The configuration of each kind of source, in the form of the API and the settings.

A new kind is a struct with a tag in ``Config``, and a name in ``SourceKind``.
"""

from typing import Annotated, Any, Literal

import msgspec

from ingot_chassis.errors import Invalid
from ingot_contracts.limits import Description, Name

WORDS = 100
"""Maximum length of a list of domains, groups or values."""
Words = Annotated[list[Name], msgspec.Meta(max_length=WORDS)]
TeamsOfOrganization = Annotated[dict[Name, Words], msgspec.Meta(max_length=WORDS)]
GroupTeamMap = Annotated[dict[Name, TeamsOfOrganization], msgspec.Meta(max_length=1_000)]
"""A map from group to organization to teams."""
GroupsFrom = Literal["sign_in", "scim"]
FirstSignIn = Literal["refuse", "create", "link", "link_or_create"]
_ISSUER = r"^https?://[^\s/?#@\\]+(/[^\s?#\\]*)?$(?!\n)"


class GroupRules(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Teams and rights that groups of a source give.

    `group_team_map` maps a group to teams of organizations, `admin_groups` make site administrators.
    `groups_from` says the origin of a person's groups: the claim at each sign-in, or SCIM.
    """

    group_team_map: GroupTeamMap = {}
    admin_groups: Words = []
    groups_from: GroupsFrom = "sign_in"


class OidcConfig(GroupRules, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="oidc"):
    """A provider of OpenID Connect.

    `issuer` is the URL below which the provider publishes its discovery document. Other fields name the
    claims to use. `subject_claim` has the id of a person, which never changes; it must be the `externalId` of
    SCIM. `trust_email` counts its addresses as verified without the claim `email_verified`.
    `allowed_domains`, `required_claim` with `required_values`, and `required_groups` restrict who may sign
    in. With `trust_second_factor` the provider asks for second factors, and Ingot does not. `sign_out_there`
    also ends the session at the provider. `clock_skew` is in seconds.
    """

    issuer: Annotated[str, msgspec.Meta(max_length=255, pattern=_ISSUER)]
    client_id: Annotated[str, msgspec.Meta(min_length=1, max_length=255)]
    scopes: Words = msgspec.field(default_factory=lambda: ["openid", "profile", "email"])
    subject_claim: Annotated[str, msgspec.Meta(min_length=1, max_length=255)] = "sub"
    login_claim: Name = "preferred_username"
    name_claim: Name = "name"
    email_claim: Name = "email"
    groups_claim: Name = "groups"
    trust_email: bool = False
    allowed_domains: Words = []
    required_claim: Name = ""
    required_values: Words = []
    required_groups: Words = []
    first_sign_in: FirstSignIn = "refuse"
    trust_second_factor: bool = False
    sign_out_there: bool = True
    clock_skew: Annotated[int, msgspec.Meta(ge=0, le=600)] = 60


Config = OidcConfig
"""One of the structs above, selected by its tag ``kind``."""
ConfigFields = Annotated[
    dict[Name, bool | int | Description | list[Any] | dict[str, Any] | None], msgspec.Meta(max_length=WORDS)
]
"""The fields of a ``Config`` in a request, before they are checked."""


def read_config(text: str) -> Config:
    """Return the configuration in a row of a source."""
    return msgspec.json.decode(text, type=Config)


def write_config(config: Config) -> str:
    return msgspec.json.encode(config).decode()


def checked(fields: dict[str, Any], *, before: Config | None = None) -> Config:
    """Return the configuration of ``fields``. Absent fields keep their values of ``before``.

    Raises Invalid.
    """
    former = msgspec.to_builtins(before) if before is not None else {}
    if former and fields.get("kind", former["kind"]) != former["kind"]:
        raise Invalid.field("config.kind", "fixed", "cannot be changed")
    try:
        config = msgspec.convert(former | fields, Config)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        field = f"config{path.rstrip('`')}" if path else "config"
        raise Invalid.field(field, "invalid", message[:200]) from error
    if "openid" not in config.scopes:
        raise Invalid.field("config.scopes", "required", "must contain openid")
    if config.required_values and not config.required_claim:
        raise Invalid.field("config.required_claim", "required", "is required with required_values")
    config.issuer = config.issuer.strip()
    config.allowed_domains = [domain.lower().lstrip("@") for domain in config.allowed_domains]
    return config
