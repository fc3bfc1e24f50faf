"""HTML templates. Every value is escaped, except values that are marked as HTML."""

import hashlib
import shlex
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from jinja2 import Environment, FileSystemLoader, PrefixLoader, StrictUndefined
from markupsafe import Markup, escape

from ingot_chassis.clock import now
from ingot_contracts.limits import is_web_url
from ingot_contracts.web import SKIP, PageFrame

PACKAGE = Path(__file__).parents[2]
STATIC = PACKAGE / "static"
SCRIPTS = (
    "htmx.min.js",
    "menus.js",
    "failures.js",
    "places.js",
    "double_clicks.js",
    "drops.js",
    "toolbars.js",
    "unsent_texts.js",
    "pictures.js",
    "copy_buttons.js",
    "reviews.js",
    "pickers.js",
    "lists.js",
    "palette.js",
)
OWNER_AND_NAME = ("owner", "name")
"""Folders of the address of a repository at most sites."""
EXCERPT = 200
"""Maximum characters of an excerpt."""
_UNITS = ((365 * 86400, "year"), (30 * 86400, "month"), (86400, "day"), (3600, "hour"), (60, "minute"))


class Templates:
    """The templates of all packages, for one site: ``issues/list.html`` is ``issues/templates/list.html``.

    Packages provide ``filters`` and ``functions``, which templates use by name.
    """

    def __init__(
        self,
        *,
        frame: PageFrame,
        public_url: str,
        style: bytes,
        filters: tuple[Callable[..., Any], ...],
        functions: tuple[Callable[..., Any], ...],
    ) -> None:
        self._environment = _environment(frame, public_url, style, filters, functions)

    def render(self, name: str, **values: Any) -> str:
        return self._environment.get_template(name).render(values)


@cache
def _environment(
    frame: PageFrame,
    public_url: str,
    style: bytes,
    filters: tuple[Callable[..., Any], ...],
    functions: tuple[Callable[..., Any], ...],
) -> Environment:
    """Return the environment of a site's templates.

    All apps of a process share it, because compilation takes longer than most requests.
    """
    folders = PACKAGE.glob("*/templates")
    environment = Environment(
        loader=PrefixLoader({folder.parent.name: FileSystemLoader(folder) for folder in folders}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "ago": ago,
        "moment": moment,
        "size": size,
        "path": path,
        "short": short,
        "subject": subject,
        "page_at_source": page_at_source,
        "excerpt": excerpt,
        "duration": duration,
        "shell": shlex.quote,
        **{function.__name__: function for function in filters},
    }
    environment.tests |= {"web_url": is_web_url, "past": is_past}
    root = frame.root
    environment.globals |= {
        "skip": Markup(SKIP),  # noqa: S704 - of our own
        "brand": Markup(frame.brand),  # noqa: S704 - escaped where it is made
        "note": Markup(frame.note),  # noqa: S704 - the same
        "footer": Markup(frame.footer),  # noqa: S704 - the same
        "site_name": frame.site_name,
        "public_url": public_url,
        "root": root,
        "style": _address(root, "style.css", style),
        "scripts": [_address(root, name, (STATIC / name).read_bytes()) for name in SCRIPTS],
        "query": urlencode,
        "time_element": time_element,
        **{function.__name__: function for function in functions},
    }
    return environment


def _address(root: str, name: str, content: bytes) -> str:
    """Return the URL of a static file.

    It changes with the content, so browsers may cache the file forever.
    """
    return f"{root}/-/assets/{name}?{hashlib.sha256(content).hexdigest()[:12]}"


@lru_cache(maxsize=10_000)
def _parsed(time: str) -> datetime:
    return datetime.fromisoformat(time).astimezone(UTC)


def ago(time: str) -> str:
    """Return the distance between a time in a response and now, as text.

    Clocks differ, so a time less than five minutes in the future is shown as now.
    """
    seconds = (now() - _parsed(time)).total_seconds()
    for length, unit in _UNITS:
        if seconds >= length or -seconds >= max(length, 300):
            count = int(abs(seconds) // length)
            words = f"{count} {unit}{'s' if count > 1 else ''}"
            return f"{words} ago" if seconds > 0 else f"in {words}"
    return "just now"


def is_past(time: str) -> bool:
    """Return whether a time in a response has passed."""
    return _parsed(time) < now()


def time_element(time: str) -> Markup:
    """Return an element with the distance to a time, and the time itself."""
    words = f'<time datetime="{escape(time)}" title="{moment(time)}">{ago(time)}</time>'
    return Markup(words)  # noqa: S704 - numbers and words of our own, and the time is escaped


@lru_cache(maxsize=10_000)
def moment(time: str) -> str:
    """Return a time of a response in a readable format."""
    return _parsed(time).strftime("%Y-%m-%d %H:%M UTC")


def size(count: int) -> str:
    """Return a number of bytes as text in a suitable unit."""
    value = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{count} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def duration(seconds: int) -> str:
    """Return a number of seconds as hours and minutes."""
    hours, minutes = divmod(seconds // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def path(text: str) -> str:
    """Return the text quoted as a part of a path. Slashes are not quoted."""
    return quote(text, safe="/")


def short(sha: str) -> str:
    return sha[:10]


def page_at_source(name: str, original_url: str) -> str:
    """Return the URL of a person's page at the source of an import; empty for a source without pages.

    ``original_url`` is the URL of the repository at the source. If its path is owner and name, the person's
    page is next to the owner's page. For a longer path, return the URL of the repository: the site may be in
    a folder, or the owner in a group.
    """
    parts = urlsplit(original_url)
    if not name or parts.scheme not in ("http", "https") or not parts.hostname:
        return ""
    root = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    folders = parts.path.strip("/").split("/")
    return f"{root}/{quote(name, safe='')}" if len(folders) == len(OWNER_AND_NAME) else root + parts.path


def subject(message: str) -> str:
    """Return the first line of a commit message that is not blank."""
    return message.lstrip().split("\n", 1)[0]


def excerpt(text: str) -> str:
    """Return the beginning of a text on one line, for link previews."""
    words = " ".join(text[: 2 * EXCERPT].split())
    return words if len(words) <= EXCERPT else words[:EXCERPT].rstrip() + "…"
