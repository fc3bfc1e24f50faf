"""PATCH: a field that is absent from the body does not change.

Such a field is declared ``name: str | UnsetType = UNSET``. null counts as absent, too (``http.request``).
"""

from typing import Any

import msgspec


def set_fields(body: msgspec.Struct) -> dict[str, Any]:
    """Return the fields that the body contains, by their names in Python."""
    values = {name: getattr(body, name) for name in body.__struct_fields__}
    return {name: value for name, value in values.items() if value is not msgspec.UNSET}
