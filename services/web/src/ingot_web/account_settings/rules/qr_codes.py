"""QR codes, which a phone reads from a page."""

import segno
from markupsafe import Markup

MOST_BYTES = 1000
"""Of a text; larger pictures are hard to read for a phone."""


def qr_code(text: str, label: str) -> Markup:
    """Return a picture of the text; empty if the text is empty or too long.

    ``label`` is the text for screen readers.
    """
    if not 0 < len(text.encode()) <= MOST_BYTES:
        return Markup()
    picture = segno.make(text, micro=False).svg_inline(omitsize=True, lineclass=None, light="#fff")
    return Markup('<div class="qr" role="img" aria-label="{}">{}</div>').format(label, Markup(picture))  # noqa: S704 - drawn here
