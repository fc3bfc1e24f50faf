"""The page frame of web for services that answer browsers themselves, so all pages look alike.

The style sheet is web's, at a fixed address. Pages are readable without it.
"""

from html import escape

import msgspec

STYLE = "/-/assets/style.css"
ICON = "/-/assets/icon.svg"
"""Icon and style sheet, below the root of the site."""
SKIP = '<a class="skip" href="#main">To the content</a>'
_LOGO = (
    '<svg width="22" height="22" viewBox="0 0 32 32" aria-hidden="true">'
    '<path d="M7 8h18l4 16H3z" fill="currentColor"/>'
    '<path d="M10 8h12l1.2 5H8.800z" fill="#fff" fill-opacity=".45"/></svg>'
)


class PageFrame(msgspec.Struct, frozen=True):
    """The HTML around the pages of a site. ``root`` is the path of the site, without a slash at the end."""

    root: str
    site_name: str

    @property
    def brand(self) -> str:
        """Return the site's name as a link to the first page of the site."""
        return f'<a class="brand" href="{escape(self.root)}/">{_LOGO}{escape(self.site_name)}</a>'

    @property
    def footer(self) -> str:
        root, name = escape(self.root), escape(self.site_name)
        return (
            f'<footer class="foot"><div><span>{name} runs on Ingot</span> '
            f'<a href="{root}/api/swagger">API</a> '
            f'<a href="{root}/explore/repos">Explore</a></div></footer>'
        )

    def document(self, title: str, main: str, *, kind: str = "", head: str = "") -> str:
        """Return a page that does not show the signed-in user.

        ``main`` is HTML of the class ``kind``. ``head`` goes before the style sheet.
        """
        root, name = escape(self.root), escape(self.site_name)
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(title)} · {name}</title>{head}"
            f'<link rel="stylesheet" href="{root}{STYLE}">'
            f'<link rel="icon" type="image/svg+xml" href="{root}{ICON}"></head>'
            f'<body>{SKIP}<header class="bar"><nav aria-label="Site">{self.brand} '
            f'<a href="{root}/explore/repos">Explore</a></nav></header>'
            f'<main id="main" class="{f"wrap {kind}".rstrip()}">{main}</main>{self.footer}</body></html>\n'
        )
