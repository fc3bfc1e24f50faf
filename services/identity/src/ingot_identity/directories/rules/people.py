"""A person as described by an entry of a directory."""

from collections.abc import Collection, Sequence
from urllib.parse import urlsplit
from uuid import UUID

import msgspec

from ingot_chassis.errors import Invalid
from ingot_identity.accounts.rules import names
from ingot_identity.directories.clients.queries import DirectoryFailed, Entry, PersonQuery, Server
from ingot_identity.sources.rules.configs import LdapConfig

LONGEST_TEXT = 255
FULL_NAME_LENGTH = 100
OBJECT_GUID = "objectguid"
"""The id of Active Directory: 16 bytes in the order of its own systems."""


class DirectoryPerson(msgspec.Struct, frozen=True, kw_only=True):
    """A person as described by an entry. ``email`` is in lower case; empty if it is invalid.

    ``picture`` is None if the directory did not show it, and empty if there is none.
    """

    subject: str
    login: str
    full_name: str
    email: str
    groups: frozenset[str]
    ssh_keys: Sequence[str] = ()
    picture: bytes | None = b""


def server_of(config: LdapConfig, secret: str) -> Server:
    """Return the directory of a source. ``secret`` is the password of ``bind_dn``."""
    parts = urlsplit(config.url)
    tls_first = parts.scheme == "ldaps"
    return Server(
        host=parts.hostname or "",
        port=parts.port or (636 if tls_first else 389),
        tls_first=tls_first,
        authorities=config.authorities,
        bind_dn=config.bind_dn,
        bind_password=secret,
    )


def query_of(config: LdapConfig, *, picture: bool = False) -> PersonQuery:
    """Return the search for people.

    Pictures are large, so they are only requested with ``picture``, and for verified people.
    """
    attributes = [
        config.subject_attribute,
        config.login_attribute,
        config.name_attribute,
        config.email_attribute,
        config.groups_attribute,
        config.ssh_key_attribute,
    ]
    return PersonQuery(
        base_dn=config.base_dn,
        user_filter=config.user_filter,
        user_dn=config.user_dn,
        subject_attribute=config.subject_attribute,
        login_attribute=config.login_attribute,
        attributes=[name for name in attributes if name],
        late_attributes=[config.avatar_attribute] if picture and config.avatar_attribute else [],
        group_base_dn=config.group_base_dn,
        group_filter=config.group_filter,
        group_attribute=config.group_name_attribute,
    )


def person_of(config: LdapConfig, entry: Entry, groups: Sequence[str]) -> DirectoryPerson:
    """Return the person in an entry. Raises DirectoryFailed if the entry lacks the person's id."""
    return DirectoryPerson(
        subject=subject_of(config, entry),
        login=_text(entry, config.login_attribute),
        full_name=_text(entry, config.name_attribute)[:FULL_NAME_LENGTH],
        email=_email(_text(entry, config.email_attribute)),
        groups=groups_of(config, entry, groups),
        ssh_keys=keys_of(config, entry),
        picture=_picture(config, entry),
    )


def groups_of(config: LdapConfig, entry: Entry, groups: Sequence[str]) -> frozenset[str]:
    """Return the groups of a person.

    They are ``groups``, found by the search for groups, if ``config`` has a filter for groups. Otherwise
    they are the values of an attribute of ``entry``.
    """
    return frozenset(groups if config.group_filter else _texts(entry, config.groups_attribute))


def keys_of(config: LdapConfig, entry: Entry) -> list[str]:
    """Return the SSH keys in an entry, as it has them."""
    values = entry.attributes.get(config.ssh_key_attribute.lower(), ())
    return [value.decode(errors="replace").strip() for value in values]


def has_required_group(config: LdapConfig, groups: Collection[str]) -> bool:
    """True if a person with these groups may sign in."""
    return not config.required_groups or not {*config.required_groups}.isdisjoint(groups)


def subject_of(config: LdapConfig, entry: Entry) -> str:
    """Return the id of the person in an entry. Raises DirectoryFailed if there is not exactly one."""
    values = entry.attributes.get(config.subject_attribute.lower(), ())
    if len(values) != 1:
        raise DirectoryFailed(f"an entry has {len(values)} values of {config.subject_attribute}, not one")
    if config.subject_attribute.lower() == OBJECT_GUID and len(values[0]) == 16:
        return str(UUID(bytes_le=values[0]))
    subject = _decoded(values[0])
    if not 0 < len(subject) <= LONGEST_TEXT:
        raise DirectoryFailed(f"the {config.subject_attribute} of an entry is no usable id")
    return subject


def raw_subject(config: LdapConfig, subject: str) -> bytes:
    """Return an id as the directory has it. Reverses ``subject_of``."""
    if config.subject_attribute.lower() == OBJECT_GUID:
        try:
            return UUID(subject).bytes_le
        except ValueError:
            return subject.encode()
    return subject.encode()


def _picture(config: LdapConfig, entry: Entry) -> bytes | None:
    if not config.avatar_attribute:
        return b""
    values = entry.attributes.get(config.avatar_attribute.lower())
    return None if values is None else next(iter(values), b"")


def _texts(entry: Entry, attribute: str) -> list[str]:
    return [text for text in map(_decoded, entry.attributes.get(attribute.lower(), ())) if text]


def _text(entry: Entry, attribute: str) -> str:
    """Return the first usable value of an attribute, or ""."""
    return next((text.strip()[:LONGEST_TEXT] for text in _texts(entry, attribute)), "")


def _decoded(value: bytes) -> str:
    """Return a value as text; "" for bytes that are no text that can be shown."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() else ""


def _email(text: str) -> str:
    try:
        return names.check_email(text)
    except Invalid:
        return ""
