"""Static files, rules for search engines, and the style guide."""

from litestar import Response, get

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import anyone
from ingot_web.diffs.rules.colours import coloured_diff
from ingot_web.diffs.rules.parsing import parse
from ingot_web.pages.api.request import WebRequest
from ingot_web.pages.rules.templates import SCRIPTS, STATIC
from ingot_web.site.api.branding import SiteFiles

ASSETS = {
    "icon.svg": ("image/svg+xml", (STATIC / "icon.svg").read_bytes()),
    **{name: ("text/javascript", (STATIC / name).read_bytes()) for name in SCRIPTS},
}
CHANGES = """diff --git a/lamp.py b/lamp.py
--- a/lamp.py
+++ b/lamp.py
@@ -1,3 +1,3 @@ class Lamp:
 def shine():
-    flicker()
+    glow()
"""
"""A diff for the style guide."""
ROBOTS = """User-agent: *
Disallow: /-/
Disallow: /api/
Disallow: /login
Disallow: /*/*/archive/
Disallow: /*/*/blame/
Disallow: /*/*/blob_excerpt/
Disallow: /*/*/find/
Disallow: /*/*/_
Disallow: /*/*/compare/
Disallow: /*/*/commits/
Disallow: /*/*/media/
Disallow: /*/*/raw/
Disallow: /*/*/search
Disallow: /*/*/src/commit/
Disallow: /*/*/settings
"""


def _answer(files: SiteFiles, name: str, *, by_content: bool) -> Response[bytes]:
    """Return a file. Raises NotFound.

    ``by_content``: its URL changes with its content, so browsers may cache it for a year.
    """
    if name == "style.css":
        kind, content = "text/css", files.style
    elif name == "logo" and files.logo is not None:
        kind, content = files.logo.media_type, files.logo.content
    elif name in ASSETS:
        kind, content = ASSETS[name]
    else:
        raise NotFound
    lifetime = "max-age=31536000, immutable" if by_content else "max-age=600"
    headers = {"Cache-Control": f"public, {lifetime}", "X-Content-Type-Options": "nosniff"}
    return Response(content, media_type=kind, headers=headers)


@get("/-/assets/{name:str}", policy=anyone(), include_in_schema=False)
async def asset(request: WebRequest, name: str) -> Response[bytes]:
    """Return a static file. Its URL has a query with a digest of its content.

    URLs on sign-in pages have no query, so browsers cache these files for only ten minutes.
    """
    return _answer(request.part(SiteFiles), name, by_content=bool(request.scope["query_string"]))


@get("/robots.txt", policy=anyone(), include_in_schema=False, media_type="text/plain")
async def robots() -> str:
    """Return the paths that crawlers must skip."""
    return ROBOTS


@get("/favicon.ico", policy=anyone(), include_in_schema=False)
async def favicon(request: WebRequest) -> Response[bytes]:
    """Return the icon for browsers that request ``/favicon.ico``."""
    return _answer(request.part(SiteFiles), "icon.svg", by_content=False)


@get("/-/styleguide", policy=anyone(), include_in_schema=False)
async def styleguide(request: WebRequest) -> Response[str]:
    """Show a page with every page element, if the setting allows it. Raises NotFound."""
    if not request.app.state.settings.styleguide:
        raise NotFound
    texts = (CHANGES, CHANGES.replace("lamp.py", "horn.py"))
    changes, other = (coloured_diff(parse(text)) for text in texts)
    return request.render("site/styleguide.html", title="Style guide", changes=changes, other_changes=other)


routes = [asset, robots, favicon, styleguide]
