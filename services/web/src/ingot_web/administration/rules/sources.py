"""Sources of accounts in forms: the fields of the API, with groups as lines of text."""

from collections.abc import Mapping
from typing import Any

from ingot_chassis.errors import Invalid
from ingot_web.forms.rules.fields import Form

WORDS = ("scopes", "allowed_domains")
LINES = ("required_values", "required_groups", "admin_groups", "restricted_groups")
DIRECTORY_LINES = ("required_groups", "admin_groups", "restricted_groups")
TEXTS = (
    "issuer",
    "client_id",
    "subject_claim",
    "login_claim",
    "name_claim",
    "email_claim",
    "groups_claim",
    "required_claim",
)
DIRECTORY_TEXTS = (
    "url",
    "bind_dn",
    "base_dn",
    "user_filter",
    "user_dn",
    "subject_attribute",
    "login_attribute",
    "name_attribute",
    "email_attribute",
    "groups_attribute",
    "ssh_key_attribute",
    "avatar_attribute",
    "group_base_dn",
    "group_filter",
    "group_name_attribute",
)
BOXES = ("trust_email", "trust_second_factor", "sign_out_there")
CHOICES = (
    ("refuse", "Refuse"),
    ("create", "Make an account"),
    ("link", "Link the account with the same verified address, after its password"),
    ("link_or_create", "Link it, or make an account if there is none"),
)
GROUPS_FROM = (("sign_in", "The claim at each sign-in"), ("scim", "SCIM"))
NEW = {
    "subject_claim": "sub",
    "groups_from": "sign_in",
    "scopes": "openid profile email",
    "login_claim": "preferred_username",
    "name_claim": "name",
    "email_claim": "email",
    "groups_claim": "groups",
    "first_sign_in": "refuse",
    "sign_out_there": "1",
    "enabled": "1",
}
"""The fields of an empty form for a provider."""
NEW_DIRECTORY = {
    "kind": "ldap",
    "user_filter": "(&(objectClass=person)(uid={name}))",
    "subject_attribute": "entryUUID",
    "login_attribute": "uid",
    "name_attribute": "cn",
    "email_attribute": "mail",
    "groups_attribute": "memberOf",
    "group_name_attribute": "cn",
    "first_sign_in": "refuse",
    "enabled": "1",
}
"""The fields of an empty form for a directory."""


def source_of(form: Form) -> dict[str, Any]:
    """Return the API request for a form, without the name. Raises Invalid."""
    config = _directory(form) if form.text("kind") == "ldap" else _provider(form)
    config["first_sign_in"] = form.text("first_sign_in") or "refuse"
    config["group_team_map"] = read_groups(form.lines("group_team_map"))
    body: dict[str, Any] = {"title": form.text("title"), "enabled": form.has("enabled"), "config": config}
    if form["secret"]:
        body["secret"] = form["secret"]
    return body


def _provider(form: Form) -> dict[str, Any]:
    config: dict[str, Any] = {name: form.text(name) for name in TEXTS}
    config |= {name: form.text(name).split() for name in WORDS}
    config |= {name: _lines(form, name) for name in LINES}
    config |= {name: form.has(name) for name in BOXES}
    return config | {"kind": "oidc", "groups_from": form.text("groups_from") or "sign_in"}


def _directory(form: Form) -> dict[str, Any]:
    config: dict[str, Any] = {name: form.text(name) for name in DIRECTORY_TEXTS}
    config |= {name: _lines(form, name) for name in DIRECTORY_LINES}
    config["authorities"] = form.lines("authorities")
    return config | {"kind": "ldap", "trust_email": form.has("trust_email")}


def fields_of(source: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields of a form for a source of the API."""
    config = source["config"]
    is_directory = config["kind"] == "ldap"
    texts = (*DIRECTORY_TEXTS, "authorities") if is_directory else (*TEXTS, "groups_from")
    fields = {name: str(config.get(name, "")) for name in (*texts, "kind", "first_sign_in")}
    fields |= {name: " ".join(config[name]) for name in (() if is_directory else WORDS)}
    fields |= {name: "\n".join(config[name]) for name in (DIRECTORY_LINES if is_directory else LINES)}
    fields |= {name: "1" for name in BOXES if config.get(name)}
    fields |= {"title": source["title"], "group_team_map": write_groups(config["group_team_map"])}
    return fields | ({"enabled": "1"} if source["enabled"] else {})


def read_groups(text: str) -> dict[str, dict[str, list[str]]]:
    """Return the map in lines such as ``group = organization/team organization/team``. Raises Invalid."""
    groups = dict[str, dict[str, list[str]]]()
    for line in filter(None, map(str.strip, text.splitlines())):
        group, equals, teams = line.rpartition("=")
        if not equals or not group.strip() or not teams.split():
            raise Invalid.field("group_team_map", "format", f"{line!r} is not “group = organization/team”")
        for name in teams.split():
            organization, slash, team = name.partition("/")
            if not slash or not organization or not team:
                raise Invalid.field("group_team_map", "format", f"{name!r} is not organization/team")
            groups.setdefault(group.strip(), {}).setdefault(organization, []).append(team)
    return groups


def write_groups(groups: Mapping[str, Mapping[str, list[str]]]) -> str:
    """Return the map as lines that ``read_groups`` parses."""
    return "\n".join(
        f"{group} = {' '.join(f'{name}/{team}' for name, teams in organizations.items() for team in teams)}"
        for group, organizations in groups.items()
    )


def _lines(form: Form, name: str) -> list[str]:
    return [line.strip() for line in form.lines(name).splitlines() if line.strip()]
