"""The configuration of each kind of source, in the format of the API and the settings.

A new kind is a struct with a tag in ``Config``, and a name in ``SourceKind``.
"""

import ssl
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec

from ingot_chassis.errors import Invalid
from ingot_contracts.limits import Description, Name, Text

WORDS = 100
"""Maximum length of a list of domains, groups or values."""
Words = Annotated[list[Name], msgspec.Meta(max_length=WORDS)]
TeamsOfOrganization = Annotated[dict[Name, Words], msgspec.Meta(max_length=WORDS)]
GroupTeamMap = Annotated[dict[Name, TeamsOfOrganization], msgspec.Meta(max_length=1_000)]
"""A map from group to organization to teams."""
GroupsFrom = Literal["sign_in", "scim"]
FirstSignIn = Literal["refuse", "create", "link", "link_or_create"]
Attribute = Annotated[str, msgspec.Meta(max_length=100, pattern=r"^[A-Za-z][A-Za-z0-9.;-]*$(?!\n)")]
"""The name of an attribute of a directory."""
OptionalAttribute = Annotated[
    str, msgspec.Meta(max_length=100, pattern=r"^([A-Za-z][A-Za-z0-9.;-]*)?$(?!\n)")
]
_DIRECTORY = r"^ldaps?://[^\s/?#@\\]+/?$(?!\n)"
_ISSUER = r"^https?://[^\s/?#@\\]+(/[^\s?#\\]*)?$(?!\n)"


class GroupRules(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Teams and rights that members of a source's groups get.

    `group_team_map` maps a group to teams of organizations, `admin_groups` make site administrators, and
    `restricted_groups` make restricted users.
    `groups_from` says the origin of a person's groups: the claim at each sign-in, or SCIM.
    """

    group_team_map: GroupTeamMap = {}
    admin_groups: Words = []
    restricted_groups: Words = []
    groups_from: GroupsFrom = "sign_in"

    def mapped_groups(self) -> set[str]:
        """Return the groups that give something to their members, or take something from them."""
        return {*self.group_team_map, *self.admin_groups, *self.restricted_groups}


class OidcConfig(GroupRules, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="oidc"):
    """A provider of OpenID Connect.

    `issuer` is the URL below which the provider publishes its discovery document. Fields that end with
    `_claim` name the claims to use. `subject_claim` has the id of a person, which never changes; it must be
    the `externalId` of SCIM. With `trust_email`, its addresses are verified even without the claim
    `email_verified`. `allowed_domains`, `required_claim` with `required_values`, and `required_groups`
    restrict who may sign in. With `trust_second_factor` the provider asks for second factors, and Ingot does
    not. `sign_out_there` also ends the session at the provider. `clock_skew` is in seconds.
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


class LdapConfig(GroupRules, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="ldap"):
    """A directory (LDAP, Active Directory). Its `secret` is the password of `bind_dn`.

    `url` begins with ldaps://, or with ldap://, which uses StartTLS. TLS is always used. `authorities` are
    the only trusted certificate authorities, in PEM; empty means the authorities of the system. `{name}` is
    the name that a person types. The entry of the person is below `base_dn` and matches `user_filter`.
    `bind_dn` searches for it. With `user_dn`, such as `uid={name},ou=people,dc=example,dc=org`, the person
    binds directly. `subject_attribute` has the id of a person, which never changes. `groups_attribute` of the
    person names groups. `group_filter` searches for groups below `group_base_dn` instead. `{dn}` in it is the
    entry of the person, and `{name}` the `login_attribute` of the entry. `group_name_attribute` has names of
    groups. `required_groups` restricts who may sign in. With `trust_email`, addresses of the directory are
    confirmed. `ssh_key_attribute` has the SSH keys of the account, and `avatar_attribute` its picture; empty
    means no attribute.
    """

    url: Annotated[str, msgspec.Meta(max_length=255, pattern=_DIRECTORY)]
    authorities: Text = ""
    bind_dn: Description = ""
    base_dn: Annotated[str, msgspec.Meta(min_length=1, max_length=2_000)]
    user_filter: Description = "(&(objectClass=person)(uid={name}))"
    user_dn: Description = ""
    subject_attribute: Attribute = "entryUUID"
    login_attribute: Attribute = "uid"
    name_attribute: Attribute = "cn"
    email_attribute: Attribute = "mail"
    groups_attribute: Attribute = "memberOf"
    ssh_key_attribute: OptionalAttribute = ""
    avatar_attribute: OptionalAttribute = ""
    group_base_dn: Description = ""
    group_filter: Description = ""
    group_name_attribute: Attribute = "cn"
    required_groups: Words = []
    trust_email: bool = False
    first_sign_in: Literal["refuse", "create"] = "refuse"


Config = OidcConfig | LdapConfig
"""One of the structs above, selected by its tag ``kind``."""
ConfigFields = Annotated[
    dict[Name, bool | int | Description | list[Any] | dict[str, Any] | None], msgspec.Meta(max_length=WORDS)
]
"""The fields of a ``Config`` in a request, before they are checked."""


def read_config(text: str) -> Config:
    """Return the configuration in a row of a source."""
    config: Config = msgspec.json.decode(text, type=Config)
    return config


def read_oidc(text: str) -> OidcConfig:
    """Return the configuration in a row of a provider of OpenID Connect."""
    return msgspec.json.decode(text, type=OidcConfig)


def read_ldap(text: str) -> LdapConfig:
    """Return the configuration in a row of a directory."""
    return msgspec.json.decode(text, type=LdapConfig)


def write_config(config: Config) -> str:
    return msgspec.json.encode(config).decode()


def origin_of(config: Config) -> dict[str, str]:
    """Return the fields that determine to whom an id at the source belongs."""
    if isinstance(config, LdapConfig):
        return {"base_dn": config.base_dn, "subject_attribute": config.subject_attribute}
    return {"issuer": config.issuer, "subject_claim": config.subject_claim}


def checked(fields: dict[str, Any], *, before: Config | None = None) -> Config:
    """Return the checked configuration of ``fields``. Absent fields keep their values of ``before``.

    Raises Invalid.
    """
    former = msgspec.to_builtins(before) if before is not None else {}
    if former and fields.get("kind", former["kind"]) != former["kind"]:
        raise Invalid.field("config.kind", "fixed", "cannot be changed")
    try:
        config: Config = msgspec.convert(former | fields, Config)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        field = f"config{path.rstrip('`')}" if path else "config"
        raise Invalid.field(field, "invalid", message[:200]) from error
    if isinstance(config, LdapConfig):
        _check_ldap(config)
    else:
        _check_oidc(config)
    return config


def _check_oidc(config: OidcConfig) -> None:
    """Check the configuration of a provider, and normalize issuer and domains. Raises Invalid."""
    if "openid" not in config.scopes:
        raise Invalid.field("config.scopes", "required", "must contain openid")
    if config.required_values and not config.required_claim:
        raise Invalid.field("config.required_claim", "required", "is required with required_values")
    config.issuer = config.issuer.strip()
    config.allowed_domains = [domain.lower().lstrip("@") for domain in config.allowed_domains]


def _check_ldap(config: LdapConfig) -> None:
    """Check the configuration of a directory. Raises Invalid."""
    try:
        is_usable = bool(urlsplit(config.url).hostname) and urlsplit(config.url).port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise Invalid.field("config.url", "invalid", "is not ldaps://host:port or ldap://host:port")
    if config.groups_from != "sign_in":
        raise Invalid.field("config.groups_from", "unsupported", "can only be sign_in for a directory")
    if config.user_dn and "{name}" not in config.user_dn:
        raise Invalid.field("config.user_dn", "placeholder", "must contain {name}")
    if not config.user_dn and "{name}" not in config.user_filter:
        raise Invalid.field("config.user_filter", "placeholder", "must contain {name}")
    if config.ssh_key_attribute and not config.bind_dn:
        reason = "needs bind_dn, without which keys of people who left would stay"
        raise Invalid.field("config.ssh_key_attribute", "bind_dn", reason)
    for field in ("user_filter", "group_filter"):
        if not _is_filter(getattr(config, field)):
            raise Invalid.field(f"config.{field}", "invalid", "is no filter: its parentheses do not match")
    if config.authorities:
        _check_authorities(config.authorities)


def _check_authorities(text: str) -> None:
    """Check certificates in PEM. Raises Invalid."""
    try:
        ssl.create_default_context(cadata=text)
    except (ssl.SSLError, ValueError) as error:
        raise Invalid.field("config.authorities", "invalid", "has no certificate in PEM") from error


def _is_filter(text: str) -> bool:
    """True if the text is empty or one filter with balanced parentheses. The directory checks the rest."""
    depth = 0
    for position, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth <= 0 and position < len(text) - 1:
            return False
    return depth == 0 and (not text or text.endswith(")"))
