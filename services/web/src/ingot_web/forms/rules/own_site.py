"""Rejects forms that another site sends (CSRF), by headers of the browser."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from ingot_chassis.errors import Denied


def require_own_site(headers: Mapping[str, str], public_url: str) -> None:
    """Raise Denied if ``Origin`` or ``Sec-Fetch-Site`` (W3C Fetch Metadata) names another site."""
    parts = urlsplit(public_url)
    own = f"{parts.scheme}://{parts.netloc}"
    site = headers.get("sec-fetch-site", "same-origin")
    if headers.get("origin", own) != own or site not in ("same-origin", "none"):
        raise Denied("the form was sent by another site")
