"""The allow list of HTML in rendered texts: tags, attributes, classes, ids and schemes of URLs."""

import re
from collections.abc import Callable
from functools import partial

import nh3

Resolver = Callable[[str, str], str]
"""Returns the absolute URL of a tag's target."""

_CLASSES = re.compile(
    r"(?:language-[\w+#.-]{1,40}|highlight|[a-z][a-z0-9]{0,2}|task-list-item|task-list-item-checkbox"
    r"|contains-task-list|footnotes(?:-(?:list|sep))?|footnote-(?:item|ref|backref)|anchor|mention"
    r"|markdown-alert(?:-title|-note|-tip|-important|-warning|-caution)?)"
)

_PICTURE = re.compile(r"(?:https?://|(?![\w+.-]*:))[^\s,]+")
_RESOLVED = re.compile(r"https?://|mailto:|#", re.IGNORECASE)
_FORMS = {
    "id": re.compile(r"user-content-[\w%.:-]{1,200}|fn(?:ref)?[0-9]{1,6}(?::[0-9]{1,6})?"),
    "align": re.compile("left|center|right", re.IGNORECASE),
    "media": re.compile(r"\(prefers-color-scheme: ?(?:dark|light)\)"),
}
"""The values that an attribute may have."""
_TARGETS = {("a", "href"), ("img", "src"), ("source", "srcset")}
_ALIGNED = ("p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "img", "td", "th")
_TAGS = nh3.ALLOWED_TAGS | {"input", "section", "picture", "source"}
_ATTRIBUTES = {
    **{tag: set(names) for tag, names in nh3.ALLOWED_ATTRIBUTES.items()},
    "*": {"class", "id"},
    "input": {"type", "checked", "disabled"},
    "a": {"href", "title", "hreflang"},
    "source": {"media", "srcset"},
}
for _tag in _ALIGNED:
    _ATTRIBUTES[_tag] = _ATTRIBUTES.get(_tag, set()) | {"align"}


def sanitize(html: str, resolver: Resolver | None = None) -> str:
    """Return only the allowed tags, attributes and URLs of the HTML.

    ``resolver`` makes relative targets absolute; without it they are not changed.
    """
    return nh3.clean(
        html,
        tags=_TAGS,
        clean_content_tags={"script", "style"},
        attributes=_ATTRIBUTES,
        attribute_filter=partial(_attribute, resolver),
        url_schemes={"http", "https", "mailto"},
        link_rel="nofollow noopener",
    )


def _attribute(resolver: Resolver | None, tag: str, name: str, value: str) -> str | None:
    """Return the allowed value, or None. Values of authors must not reach scripts or styles of the page."""
    if name == "class":
        return " ".join(part for part in value.split() if _CLASSES.fullmatch(part)) or None
    if tag == "input" and name == "type":
        return "checkbox"
    if (tag, name) in _TARGETS:
        return _target(resolver, tag, value.strip())
    form = _FORMS.get(name)
    return value if form is None or form.fullmatch(value) else None


def _target(resolver: Resolver | None, tag: str, value: str) -> str | None:
    """Return the URL of a target, or None to drop the attribute.

    nh3 has already checked the scheme of the target. A URL that the resolver makes is checked here.
    """
    if resolver is not None:
        value = resolver(tag, value)
        if not _RESOLVED.match(value):
            return None
    return value if tag != "source" or _PICTURE.fullmatch(value) else None
