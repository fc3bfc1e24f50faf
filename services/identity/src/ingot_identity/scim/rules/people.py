"""A user in the form of a SCIM client."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ingot_chassis.errors import Invalid
from ingot_identity.accounts.rules import names
from ingot_identity.providers.rules.people import FULL_NAME_LENGTH
from ingot_identity.scim.rules.bodies import Values, bool_of, objects_of, require_text, text_of
from ingot_identity.scim.rules.errors import ScimError
from ingot_identity.scim.store.tables import ScimUserRow

MOST_EMAILS = 20


class ScimPerson(msgspec.Struct, frozen=True, kw_only=True):
    """The attributes of a user that this server uses. Others are ignored."""

    user_name: str
    external_id: str
    first_name: str
    family_name: str
    display_name: str
    email: str
    active: bool

    @property
    def full_name(self) -> str:
        """Return the display name, or first and family name, cut to ``FULL_NAME_LENGTH``."""
        name = self.display_name or f"{self.first_name} {self.family_name}".strip()
        return name[:FULL_NAME_LENGTH].strip()

    def columns(self) -> dict[str, Any]:
        """Return the columns of ``scim_user``."""
        columns = msgspec.structs.asdict(self)
        return {name: columns[name] for name in columns if name not in ("external_id", "active")}


def read_person(values: Values) -> ScimPerson:
    """Return the user in a body, or after a PATCH. Raises ScimError."""
    name = values.get("name", {})
    if not isinstance(name, dict):
        raise ScimError("invalidValue", "name must be an object")
    return ScimPerson(
        user_name=require_text(values, "userName"),
        external_id=text_of(values, "externalId"),
        first_name=text_of(name, "givenName"),
        family_name=text_of(name, "familyName"),
        display_name=text_of(values, "displayName") or text_of(name, "formatted"),
        email=_email_of(objects_of(values, "emails", most=MOST_EMAILS)),
        active=bool_of(values.get("active", True), "active"),
    )


def values_of(row: ScimUserRow) -> Values:
    """Return the attributes of a user in the form that a PATCH changes."""
    emails = [{"value": row.email, "type": "work", "primary": True}] if row.email else []
    return {
        "username": row.user_name,
        "externalid": row.external_id,
        "name": {"givenname": row.first_name, "familyname": row.family_name},
        "displayname": row.display_name,
        "emails": emails,
        "active": row.active,
    }


def _email_of(items: Sequence[Values]) -> str:
    """Return the primary address; otherwise the first one of the type ``work``; otherwise the first one.

    Empty without an address. Raises ScimError for an invalid address.
    """
    filled = [item for item in items if text_of(item, "value")]
    ordered = sorted(filled, key=lambda item: (item.get("primary") is not True, item.get("type") != "work"))
    return checked_email(text_of(ordered[0], "value")) if ordered else ""


def checked_email(address: str) -> str:
    """Return the address. Raises ScimError if it is invalid."""
    try:
        names.check_email(address)
    except Invalid as error:
        raise ScimError("invalidValue", error.message) from error
    return address
