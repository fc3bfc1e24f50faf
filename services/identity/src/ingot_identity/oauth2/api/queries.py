"""Parameters in requests of applications."""

from urllib.parse import parse_qsl

from ingot_chassis.errors import BadRequest

MOST_FIELDS = 50


def pairs_of(query: str) -> list[tuple[str, str]]:
    """Return the parameters of a query. Raises BadRequest."""
    try:
        return parse_qsl(query, max_num_fields=MOST_FIELDS, errors="replace")
    except ValueError as error:
        raise BadRequest("the request has too many parameters") from error
