"""Questions to a directory, and its answers. Names are escaped here and nowhere else."""

import re
import string
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

_NAME = re.compile(r"[!-~]+( [!-~]+)*")
_PLACEHOLDER = re.compile(r"\{(name|dn)\}")
_PLAIN = frozenset((string.ascii_letters + string.digits).encode())
LONGEST_NAME = 255


class DirectoryFailed(Exception):
    """A directory did not answer, or not in full. The text is for operators, and names the cure."""


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """A directory. Without ``tls_first``, TLS is started on the connection (StartTLS).

    ``authorities`` is PEM text. If it is not empty, only these authorities are trusted.
    """

    host: str
    port: int
    tls_first: bool
    authorities: str = ""
    bind_dn: str = ""
    bind_password: str = ""


class PersonQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The search for a person, and for the groups of the person.

    ``{name}`` in ``user_dn`` and ``user_filter`` is the name that the person typed. ``{dn}`` in
    ``group_filter`` is the entry of the person, and ``{name}`` the ``login_attribute`` of the entry. With
    ``user_dn`` the person binds directly. ``late_attributes`` are only read once a password is accepted.
    """

    base_dn: str
    user_filter: str
    user_dn: str = ""
    subject_attribute: str
    login_attribute: str
    attributes: Sequence[str] = ()
    late_attributes: Sequence[str] = ()
    group_base_dn: str = ""
    group_filter: str = ""
    group_attribute: str = "cn"


class Entry(NamedTuple):
    """An entry of a directory. Names of attributes are in lower case."""

    dn: str
    attributes: Mapping[str, Sequence[bytes]]


class VerifiedPerson(NamedTuple):
    """A person whose password the directory accepts, and the groups of the group search."""

    entry: Entry
    groups: Sequence[str]


def is_usable(name: str) -> bool:
    """True if a directory is asked for the name.

    A directory ignores spaces and spellings of Unicode. With printable ASCII and single spaces a name has one
    spelling, except for case. So all guesses for a person count against one limit.
    """
    return len(name) <= LONGEST_NAME and _NAME.fullmatch(name) is not None


def filter_of_everybody(template: str) -> str:
    """Return the filter that matches each person whom the filter of a sign-in can match."""
    return template.replace("{name}", "*")


def filter_of_subject(query: PersonQuery, subject: bytes) -> str:
    """Return the filter for the person with this id, which is a value of ``subject_attribute``."""
    return f"(&{filter_of_everybody(query.user_filter)}({query.subject_attribute}={escaped(subject)}))"


def filled(template: str, **values: str | bytes) -> str:
    """Return a filter or the name of an entry with these values, escaped.

    All placeholders are replaced in one step, so a value is never a template.
    """
    return _PLACEHOLDER.sub(lambda match: escaped(values.get(match[1], match[0])), template)


def escaped(value: str | bytes) -> str:
    r"""Return a value for a filter (RFC 4515) or the name of an entry (RFC 4514).

    Both take any byte as ``\xx``. All bytes except ASCII letters and digits are written so.
    """
    raw = value.encode() if isinstance(value, str) else value
    return "".join(chr(byte) if byte in _PLAIN else f"\\{byte:02x}" for byte in raw)
