"""Filters of lists and of paths (RFC 7644, section 3.4.2.2): `eq`, joined by `and`."""

import re
from collections.abc import Collection

import msgspec

from ingot_identity.scim.rules.errors import ScimError

LONGEST_FILTER = 2_000
MOST_CONDITIONS = 10
CORE = re.compile(r"urn:ietf:params:scim:schemas:core:2\.0:(?:user|group):", re.IGNORECASE)
_CONDITION = re.compile(
    r"\s*([a-z$][\w$:.-]*)(?:\[[^\]]*\]\.([a-z$][\w$-]*))?"
    r"\s+([a-z]+)\s+(\"(?:[^\"\\]|\\.)*\"|true|false)\s*",
    re.IGNORECASE | re.ASCII,
)
_AND = re.compile(r"and\s", re.IGNORECASE)
_SAME = {"emails": "emails.value", "members": "members.value"}

Condition = tuple[str, str | bool]


def read_conditions(text: str) -> list[Condition]:
    """Return the conditions that must all hold: attribute in lower case, and value. Raises ScimError."""
    if len(text) > LONGEST_FILTER:
        raise ScimError("invalidFilter", f"the filter has more than {LONGEST_FILTER} characters")
    conditions = list[Condition]()
    position = 0
    while match := _CONDITION.match(text, position):
        conditions.append(_condition(match))
        position = match.end()
        if position == len(text):
            break
        if len(conditions) == MOST_CONDITIONS or not (joined := _AND.match(text, position)):
            raise ScimError("invalidFilter", f"only eq, joined by and, at most {MOST_CONDITIONS} times")
        position = joined.end()
    if position < len(text) or not conditions:
        raise ScimError("invalidFilter", 'the filter is not of the form: attribute eq "value"')
    return conditions


def _condition(match: re.Match[str]) -> Condition:
    attribute, part, operator, literal = match.groups()
    if operator.lower() != "eq":
        raise ScimError("invalidFilter", f"the operator {operator[:20]!r} is not supported: only eq")
    try:
        value: str | bool = msgspec.json.decode(literal.lower() if literal[0] != '"' else literal)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ScimError("invalidFilter", "a value is no text of JSON") from error
    if isinstance(value, str) and "\0" in value:
        raise ScimError("invalidFilter", "a value holds a character that cannot be stored")
    name = CORE.sub("", attribute).lower() + (f".{part.lower()}" if part else "")
    return _SAME.get(name, name), value


def require_filterable(conditions: Collection[Condition], names: Collection[str]) -> None:
    """Raise ScimError for an attribute that has no filter, or a value of the wrong type."""
    for name, value in conditions:
        if name not in names:
            raise ScimError("invalidFilter", f"no filter by {name[:100]!r}; by one of {', '.join(names)}")
        if isinstance(value, bool) != (name == "active"):
            raise ScimError("invalidFilter", f"the value of {name} has the wrong type")
