"""QR codes for pages, scanned by a phone."""

import segno
from markupsafe import Markup

MOST_BYTES = 1000
"""Maximum bytes of a text. Phones can hardly scan larger codes."""


def qr_code(text: str, label: str) -> Markup:
    """Return a QR code of the text as a picture; empty if the text is empty or too long.

    ``label`` is the text for screen readers.
    """
    if not 0 < len(text.encode()) <= MOST_BYTES:
        return Markup()
    picture = segno.make(text, micro=False).svg_inline(omitsize=True, lineclass=None, light="#fff")
    drawn = Markup(picture)  # noqa: S704 - drawn here
    return Markup('<div class="qr" role="img" aria-label="{}">{}</div>').format(label, drawn)
