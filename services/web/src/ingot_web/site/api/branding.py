"""The style sheet and the logo of a site, checked when web starts."""

from pathlib import Path
from typing import NamedTuple

from ingot_chassis.errors import Invalid
from ingot_chassis.http.pictures import Picture, picture_of, read_picture
from ingot_chassis.settings import SettingsError
from ingot_web.pages.rules.accents import accent_rule
from ingot_web.pages.rules.templates import STATIC

LOGO_BYTES = 65_536


class SiteFiles(NamedTuple):
    """The style sheet of a site, and its logo or None."""

    style: bytes
    logo: Picture | None


def read_site_files(logo: str, accent: str) -> SiteFiles:
    """Return the files of a site.

    ``logo`` is a file or a data URL; ``accent`` is two colours, for light and dark.

    Raises SettingsError.
    """
    sheet = (STATIC / "style.css").read_bytes()
    return SiteFiles(sheet + accent_rule(sheet.decode(), accent).encode(), _read_logo(logo) if logo else None)


def _read_logo(place: str) -> Picture:
    try:
        if place.startswith("data:"):
            return read_picture(place, LOGO_BYTES, field="the picture")
        with Path(place).open("rb") as stream:
            return picture_of(stream.read(LOGO_BYTES + 1), LOGO_BYTES, field="the picture")
    except OSError as error:
        reason = f"the file cannot be read: {error.strerror}"
    except Invalid as error:
        reason = error.message
    raise SettingsError([f"INGOT_SITE_LOGO={place[:60]!r}: {reason}"])
