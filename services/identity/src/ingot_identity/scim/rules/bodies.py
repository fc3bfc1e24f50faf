"""Bodies of SCIM as plain values. Attribute names are case-insensitive, so they are lower case here."""

from typing import Any

import msgspec

from ingot_chassis.errors import ApiError
from ingot_chassis.http.request import UNSTORABLE
from ingot_identity.scim.rules.errors import ScimError

Values = dict[str, Any]
MEDIA_TYPES = ("application/scim+json", "application/json")
LONGEST_TEXT = 255


class UnsupportedBody(ApiError):
    """The Content-Type must be application/scim+json or application/json."""

    status = 415


def read_body(content_type: str, raw: bytes) -> Values:
    """Return the attributes in a body. Raises UnsupportedBody, ScimError."""
    if content_type.partition(";")[0].strip().lower() not in MEDIA_TYPES:
        raise UnsupportedBody
    try:
        value = _lowered(msgspec.json.decode(raw))
    except msgspec.DecodeError as error:
        raise ScimError("invalidSyntax", f"the body is not JSON: {error}") from error
    except UnicodeDecodeError as error:
        raise ScimError("invalidSyntax", "the body is not UTF-8") from error
    except RecursionError as error:
        raise ScimError("invalidSyntax", "the body is nested too deeply") from error
    if not isinstance(value, dict):
        raise ScimError("invalidSyntax", "the body is no object")
    return value


def _lowered(value: Any) -> Any:
    """Return the value with names in lower case, without null values."""
    if isinstance(value, dict):
        return {key.lower(): _lowered(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_lowered(item) for item in value]
    if isinstance(value, str) and UNSTORABLE.search(value):
        raise ScimError("invalidValue", "a text holds characters that cannot be stored")
    return value


def text_of(values: Values, name: str, *, longest: int = LONGEST_TEXT) -> str:
    """Return the text of an attribute, or "". Raises ScimError."""
    text = values.get(name.lower(), "")
    if not isinstance(text, str):
        raise ScimError("invalidValue", f"{name} must be a text")
    text = text.strip()
    if max(len(text), len(text.lower())) > longest:  # some letters are longer in lower case
        raise ScimError("invalidValue", f"{name} has more than {longest} characters")
    if not text.isprintable():
        raise ScimError("invalidValue", f"{name} holds characters that cannot be shown")
    return text


def require_text(values: Values, name: str) -> str:
    """Return the text of a required attribute. Raises ScimError."""
    if text := text_of(values, name):
        return text
    raise ScimError("invalidValue", f"{name} is required")


def bool_of(value: object, name: str) -> bool:
    """Return a boolean. Some clients send it as text. Raises ScimError."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise ScimError("invalidValue", f"{name} must be true or false")


def objects_of(values: Values, name: str, *, most: int) -> list[Values]:
    """Return the objects of an attribute with several values. Raises ScimError."""
    items = values.get(name, [])
    items = items if isinstance(items, list) else [items]
    if len(items) > most:
        raise ScimError("invalidValue", f"{name} has more than {most} values")
    if not all(isinstance(item, dict) for item in items):
        raise ScimError("invalidValue", f"{name} must be a list of objects")
    return items
