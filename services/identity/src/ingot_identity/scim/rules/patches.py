"""PATCH of SCIM (RFC 7644, section 3.5.2), on the attributes of a resource as plain values.

It accepts the requests of Entra ID and Okta: names of operations in any letter case, paths as names in a
value without a path, and values to remove.
"""

import re
from typing import Any, NamedTuple

from ingot_identity.scim.rules.bodies import Values
from ingot_identity.scim.rules.errors import ScimError
from ingot_identity.scim.rules.filters import CORE, Condition, read_conditions

MOST_OPERATIONS = 100
LONGEST_PATH = 2_000
MOST_VALUES = 10_000
"""Maximum number of values of an attribute, such as the members of a group."""
_PATH = re.compile(
    r"(?P<name>[a-z$][\w$-]*)(?:\[(?P<filter>.*)\])?(?:\.(?P<part>[a-z$][\w$-]*))?",
    re.IGNORECASE | re.ASCII,
)


class Path(NamedTuple):
    """An attribute, the conditions that select its values, and a part of these values."""

    name: str
    conditions: list[Condition]
    part: str


def apply_operations(values: Values, body: Values) -> None:
    """Change ``values`` by the operations of a body. After ScimError the values must not be used."""
    operations = body.get("operations")
    if not isinstance(operations, list) or not operations:
        raise ScimError("invalidSyntax", "Operations must be a list with at least one operation")
    if len(operations) > MOST_OPERATIONS:
        raise ScimError("invalidSyntax", f"there are more than {MOST_OPERATIONS} operations")
    for operation in operations:
        if not isinstance(operation, dict):
            raise ScimError("invalidSyntax", "an operation must be an object")
        _apply(values, operation)


def _apply(values: Values, operation: Values) -> None:
    verb, path, value = operation.get("op"), operation.get("path", ""), operation.get("value")
    if not isinstance(verb, str) or verb.lower() not in ("add", "replace", "remove"):
        raise ScimError("invalidSyntax", "op must be add, replace or remove")
    if not isinstance(path, str):
        raise ScimError("invalidPath", "path must be a text")
    if verb.lower() == "remove":
        if not path:
            raise ScimError("noTarget", "remove needs a path")
        _remove(values, read_path(path), value)
    elif value is None:
        raise ScimError("invalidValue", f"{verb} needs a value")
    elif path:
        _set(values, read_path(path), value, is_added=verb.lower() == "add")
    elif isinstance(value, dict):
        for name, item in value.items():
            _set(values, read_path(name), item, is_added=verb.lower() == "add")
    else:
        raise ScimError("invalidValue", f"{verb} without a path needs an object")


def read_path(text: str) -> Path:
    """Parse a path. Raises ScimError. The name is empty for a path of an extension, which is ignored."""
    if len(text) > LONGEST_PATH:
        raise ScimError("invalidPath", f"the path has more than {LONGEST_PATH} characters")
    name = CORE.sub("", text.strip(), count=1)
    if name.lower().startswith("urn:"):
        return Path("", [], "")
    match = _PATH.fullmatch(name)
    if match is None:
        raise ScimError("invalidPath", f"{text[:100]!r} is no path")
    conditions = read_conditions(match["filter"]) if match["filter"] is not None else []
    return Path(match["name"].lower(), conditions, (match["part"] or "").lower())


def _set(values: Values, path: Path, value: Any, *, is_added: bool) -> None:
    before = values.get(path.name)
    if not path.conditions and not path.part:
        values[path.name] = _joined(before, value, is_added=is_added)
    elif not path.conditions and not isinstance(before, list):
        values[path.name] = {**(before if isinstance(before, dict) else {}), path.part: value}
    else:
        items = [item for item in _items(before) if _holds(item, path.conditions)]
        if not items:
            items = [{name: item for name, item in path.conditions if "." not in name}]
            values[path.name] = [*_items(before), *items]
        for item in items:
            if path.part:
                item[path.part] = value
            elif isinstance(value, dict):
                item.update(value)
            else:
                raise ScimError("invalidValue", f"a value of {path.name} must be an object")


def _joined(before: Any, value: Any, *, is_added: bool) -> Any:
    if isinstance(before, dict) and isinstance(value, dict):
        return before | value
    if isinstance(before, list) and is_added:
        more = value if isinstance(value, list) else [value]
        keys = {_key(item) for item in before}
        joined = [*before, *(item for item in more if _key(item) not in keys)]
        if len(joined) > MOST_VALUES:
            raise ScimError("invalidValue", f"an attribute has more than {MOST_VALUES} values")
        return joined
    return value


def _remove(values: Values, path: Path, value: Any) -> None:
    before = values.get(path.name)
    if path.conditions:
        for item in [item for item in _items(before) if _holds(item, path.conditions)]:
            if path.part:
                item.pop(path.part, None)
        if not path.part:
            values[path.name] = [item for item in _items(before) if not _holds(item, path.conditions)]
    elif path.part:
        for item in [before] if isinstance(before, dict) else _items(before):
            item.pop(path.part, None)
    elif isinstance(before, list) and value is not None:
        removed = {_key(item) for item in (value if isinstance(value, list) else [value])}
        values[path.name] = [item for item in before if _key(item) not in removed]
    else:
        values.pop(path.name, None)


def _items(value: Any) -> list[Values]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _key(item: Any) -> str:
    """Return the text that identifies one value of an attribute."""
    value = item.get("value") if isinstance(item, dict) else item
    return value if isinstance(value, str) else repr(value)


def _holds(item: Values, conditions: list[Condition]) -> bool:
    return all(item.get(name) == value for name, value in conditions)
