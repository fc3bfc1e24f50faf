"""A person as described by a provider, and whether they may sign in."""

from collections.abc import Mapping
from typing import Any

import msgspec

from ingot_chassis.errors import Invalid
from ingot_identity.accounts.rules import names
from ingot_identity.mappings.rules import groups_of
from ingot_identity.providers.rules.tokens import LONGEST_SUBJECT, InvalidToken
from ingot_identity.sources.rules.configs import OidcConfig

FULL_NAME_LENGTH = 100
SESSION_ID_LENGTH = 255


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """A person as described by verified tokens. ``email`` is in lower case; empty if it is invalid."""

    subject: str
    login: str = ""
    full_name: str = ""
    email: str = ""
    email_verified: bool = False
    groups: list[str] = []
    session_id: str = ""
    id_token: str = ""
    refusal: str = ""
    """The reason why the person may not sign in; empty if they may."""


def claims_needed(config: OidcConfig) -> set[str]:
    """Return the claims that are requested at the userinfo endpoint unless the id token has them."""
    needed = {
        config.subject_claim,
        config.login_claim,
        config.name_claim,
        config.email_claim,
        config.required_claim,
    }
    if config.required_groups or config.mapped_groups():
        needed.add(config.groups_claim)
    return needed - {""}


def claim(claims: Mapping[str, Any], name: str) -> Any:
    """Return the claim of that name. Dots name a claim inside an object (``realm_access.roles``)."""
    if name in claims or "." not in name:
        return claims.get(name)
    value: Any = claims
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def person_of(config: OidcConfig, claims: Mapping[str, Any], id_token: str) -> Person:
    """Return the person in verified claims. Raises InvalidToken if the claims lack the person's id."""
    email, is_verified = _email(config, claims)
    groups = list(groups_of(claim(claims, config.groups_claim)))
    person = Person(
        subject=_subject(config, claims),
        login=_text(claims, config.login_claim),
        full_name=_text(claims, config.name_claim)[:FULL_NAME_LENGTH],
        email=email,
        email_verified=is_verified,
        groups=groups,
        session_id=_text(claims, "sid")[:SESSION_ID_LENGTH],
        id_token=id_token,
    )
    return msgspec.structs.replace(person, refusal=_refusal(config, person, claims))


def _subject(config: OidcConfig, claims: Mapping[str, Any]) -> str:
    if config.subject_claim == "sub":
        return str(claims["sub"])
    value = claim(claims, config.subject_claim)
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_SUBJECT or not value.isprintable():
        raise InvalidToken(f"the provider sends no id of the person in {config.subject_claim}")
    return value


def _email(config: OidcConfig, claims: Mapping[str, Any]) -> tuple[str, bool]:
    text = _text(claims, config.email_claim)
    try:
        address = names.check_email(text)
    except Invalid:
        return "", False
    # The claim is about ``email``: people may choose what is in another claim.
    email = claims.get("email")
    is_same = isinstance(email, str) and email.strip().lower() == address
    # Some providers write the word instead of the value.
    verified = claims.get("email_verified")
    return address, config.trust_email or (is_same and (verified is True or verified == "true"))


def _refusal(config: OidcConfig, person: Person, claims: Mapping[str, Any]) -> str:
    if config.allowed_domains:
        domain = person.email.rpartition("@")[2]
        if not person.email_verified or domain not in config.allowed_domains:
            return "Only people with a verified address of certain domains may come."
    if config.required_claim and not _has_value(claim(claims, config.required_claim), config.required_values):
        return "The account at the provider lacks what is required here."
    if config.required_groups and {*config.required_groups}.isdisjoint(person.groups):
        return "Only members of certain groups may come."
    return ""


def _has_value(value: Any, allowed: list[str]) -> bool:
    if not allowed:
        return value not in (None, False, "", [])
    values = value if isinstance(value, list) else [value]
    return any(_word(item) in allowed for item in values)


def _word(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int) else None


def _text(claims: Mapping[str, Any], name: str) -> str:
    value = claim(claims, name)
    return value.strip()[:255] if isinstance(value, str) and value.isprintable() else ""
