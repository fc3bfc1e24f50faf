"""Files of the API page: the original files of Swagger UI, the files that start it, and the bar of the site.

The page loads nothing from other hosts. File names contain a digest of the file, so browsers may cache a file
forever.
"""

import gzip
import hashlib
from html import escape
from pathlib import Path
from typing import NamedTuple

from ingot_contracts.web import PageFrame

FOLDER = Path(__file__).with_name("viewer")
ROOT = b"/api/v1/"


class ViewerFile(NamedTuple):
    """A file of the API page, compressed and uncompressed."""

    media_type: str
    plain: bytes
    packed: bytes

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.plain).hexdigest()[:16]


def _read(name: str, media_type: str) -> ViewerFile:
    packed = FOLDER / f"{name}.gz"
    if packed.is_file():
        content = packed.read_bytes()
        return ViewerFile(media_type, gzip.decompress(content), content)
    content = (FOLDER / name).read_bytes()
    return ViewerFile(media_type, content, gzip.compress(content, mtime=0))


FILES = {
    name: _read(name, media_type)
    for name, media_type in (
        ("swagger-ui.css", "text/css"),
        ("page.css", "text/css"),
        ("swagger-ui-bundle.js", "text/javascript"),
        ("start.js", "text/javascript"),
    )
}


def page(frame: PageFrame) -> bytes:
    """Return the API page with the brand and links of a site."""
    root = frame.root
    bar = (
        f'<header class="bar"><nav aria-label="Site">{frame.brand} '
        f'<a href="{escape(root)}/explore/repos">Explore</a></nav></header>'
    )
    content = (FOLDER / "index.html").read_bytes()
    for name, file in FILES.items():
        content = content.replace(name.encode() + b'"', f'{name}?{file.digest}"'.encode())
    content = content.replace(b'"' + ROOT, b'"' + root.encode() + ROOT)
    return content.replace(b"<title>", b"<title>" + escape(frame.site_name).encode() + b" ").replace(
        b"<!-- bar -->", bar.encode()
    )
