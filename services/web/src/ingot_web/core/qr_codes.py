"""QR codes, which a phone reads from a page."""

import segno
from markupsafe import Markup


def qr_code(text: str, label: str) -> Markup:
    """A picture of the text. ``label`` is for those who do not see it."""
    picture = segno.make(text, micro=False).svg_inline(omitsize=True, lineclass=None, light="#fff")
    return Markup('<div class="qr" role="img" aria-label="{}">{}</div>').format(label, Markup(picture))  # noqa: S704 - drawn here
