"""The page frame of web for services that answer browsers themselves, so all pages look alike.

The style sheet comes from web, at a fixed address. Pages are readable without it. The appearance of pages is
a preference of each viewer: a setting of the account, or a cookie of a visitor.
"""

from html import escape
from typing import Literal, Protocol, get_args
from urllib.parse import urlsplit

import msgspec

STYLE = "/-/assets/style.css"
ICON = "/-/assets/icon.svg"
LOGO = "/-/assets/logo"
"""Icon, logo and style sheet, below the root of the site."""
SKIP = '<a class="skip" href="#main">To the content</a>'
_LOGO = (
    '<svg width="22" height="22" viewBox="0 0 32 32" aria-hidden="true">'
    '<path d="M7 8h18l4 16H3z" fill="currentColor"/>'
    '<path d="M10 8h12l1.2 5H8.800z" fill="#fff" fill-opacity=".45"/></svg>'
)

APPEARANCE = "ingot-appearance"
"""The visitor's cookie, and the header by which the gateway tells web that of an account."""
Theme = Literal["system", "light", "dark", "contrast"]
Density = Literal["comfortable", "compact"]
TabWidth = Literal[2, 4, 8]


class Appearance(msgspec.Struct, frozen=True):
    """The appearance of pages for one viewer. ``tab_width`` is in characters.

    The themes "system" and "contrast" follow the light or dark mode of the system.
    """

    theme: Theme = "system"
    density: Density = "comfortable"
    tab_width: TabWidth = 4

    @classmethod
    def of(cls, theme: str, density: str, tab_width: str | int) -> "Appearance":
        """Return the appearance of these values. Unknown values are ignored.

        API clients may use the names of Gitea's themes: ``gitea-dark``, ``gitea-auto``.
        """
        values = {"theme": theme.removeprefix("gitea-"), "density": density, "tab_width": str(tab_width)}
        valid = {name: value for name, value in values.items() if value in CHOICES[name]}
        return msgspec.convert(valid, cls, strict=False)

    @classmethod
    def parse(cls, text: str) -> "Appearance":
        """Return the appearance in a cookie or header. Other texts and unknown values mean the default."""
        parts = text.split(".")
        return cls.of(*parts) if len(parts) == len(cls.__struct_fields__) else cls()

    @property
    def text(self) -> str:
        """Return the text for the cookie and the header."""
        return f"{self.theme}.{self.density}.{self.tab_width}"

    @property
    def attributes(self) -> str:
        """Return the attributes of the element ``html`` for the style sheet, with a space in front."""
        return "".join(
            f' data-{name.replace("_", "-")}="{value}"'
            for name, value in msgspec.structs.asdict(self).items()
            if value != getattr(DEFAULT_APPEARANCE, name)
        )


DEFAULT_APPEARANCE = Appearance()
CHOICES = {
    name: tuple(str(value) for value in get_args(values))
    for name, values in (("theme", Theme), ("density", Density), ("tab_width", TabWidth))
}
"""Values of each field, as texts."""


class SiteSettings(Protocol):
    """The settings of a service about the site."""

    public_url: str
    site_name: str
    site_logo: str
    site_links: dict[str, str]
    site_terms: str
    site_notice: str


class PageFrame(msgspec.Struct, frozen=True):
    """The HTML around the pages of a site. ``root`` is the path of the site, without a slash at the end.

    ``links`` are titles and addresses in the footer. ``notice`` is above each page. Web serves the logo.
    """

    root: str
    site_name: str
    links: tuple[tuple[str, str], ...] = ()
    notice: str = ""
    has_logo: bool = False

    @classmethod
    def of(cls, settings: SiteSettings) -> "PageFrame":
        """Return the frame of a site with these settings."""
        terms = [("Terms", settings.site_terms)] if settings.site_terms else []
        return cls(
            urlsplit(settings.public_url).path.rstrip("/"),
            settings.site_name,
            (*settings.site_links.items(), *terms),
            settings.site_notice,
            bool(settings.site_logo),
        )

    @property
    def brand(self) -> str:
        """Return the site's name as a link to the first page of the site."""
        logo = f'<img src="{escape(self.root)}{LOGO}" height="26" alt="">' if self.has_logo else _LOGO
        return f'<a class="brand" href="{escape(self.root)}/">{logo}{escape(self.site_name)}</a>'

    @property
    def note(self) -> str:
        """Return the notice of the site, empty without one. It goes between the bar and the page."""
        if not self.notice:
            return ""
        words = f'<p class="notice">{escape(self.notice)}</p>'
        return f'<aside class="wrap site" aria-label="Notice">{words}</aside>'

    @property
    def footer(self) -> str:
        root, name = escape(self.root), escape(self.site_name)
        links = "".join(f' <a href="{escape(url)}">{escape(title)}</a>' for title, url in self.links)
        return (
            f'<footer class="foot"><div><span>{name} runs on Ingot</span> '
            f'<a href="{root}/api/swagger">API</a> '
            f'<a href="{root}/explore/repos">Explore</a> '
            f'<a href="{root}/-/appearance">Appearance</a>{links}</div></footer>'
        )

    def document(
        self,
        title: str,
        main: str,
        *,
        kind: str = "",
        head: str = "",
        appearance: Appearance = DEFAULT_APPEARANCE,
    ) -> str:
        """Return a page that does not show the signed-in user.

        ``main`` is HTML of the class ``kind``. ``head`` goes before the style sheet.
        """
        root, name = escape(self.root), escape(self.site_name)
        return (
            f'<!doctype html><html lang="en"{appearance.attributes}><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(title)} · {name}</title>{head}"
            f'<link rel="stylesheet" href="{root}{STYLE}">'
            f'<link rel="icon" type="image/svg+xml" href="{root}{ICON}"></head>'
            f'<body>{SKIP}<header class="bar"><nav aria-label="Site">{self.brand} '
            f'<a href="{root}/explore/repos">Explore</a></nav></header>{self.note}'
            f'<main id="main" class="{f"wrap {kind}".rstrip()}">{main}</main>{self.footer}</body></html>\n'
        )
