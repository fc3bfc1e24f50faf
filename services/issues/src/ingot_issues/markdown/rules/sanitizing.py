"""The allow list of HTML in rendered texts: tags, attributes, classes, ids and schemes of URLs."""

import re

import nh3

_CLASSES = re.compile(
    r"(?:language-[\w+#.-]{1,40}|highlight|[a-z][a-z0-9]{0,2}|task-list-item|task-list-item-checkbox"
    r"|contains-task-list|footnotes(?:-(?:list|sep))?|footnote-(?:item|ref|backref)|anchor|mention)"
)
_ID = re.compile(r"user-content-[\w%.:-]{1,200}|fn(?:ref)?[0-9]{1,6}(?::[0-9]{1,6})?")

_TAGS = nh3.ALLOWED_TAGS | {"input", "section"}
_ATTRIBUTES = {
    **{tag: set(names) for tag, names in nh3.ALLOWED_ATTRIBUTES.items()},
    "*": {"class", "id"},
    "input": {"type", "checked", "disabled"},
    "a": {"href", "title", "hreflang"},
    "td": {"align"},
    "th": {"align"},
}


def sanitize(html: str) -> str:
    """Return the HTML with allowed tags, attributes and URLs alone."""
    return nh3.clean(
        html,
        tags=_TAGS,
        clean_content_tags={"script", "style"},
        attributes=_ATTRIBUTES,
        attribute_filter=_attribute,
        url_schemes={"http", "https", "mailto"},
        link_rel="nofollow noopener",
    )


def _attribute(tag: str, name: str, value: str) -> str | None:
    """Return the allowed value, or None: no author's value may reach scripts or styles of the page."""
    if name == "class":
        return " ".join(part for part in value.split() if _CLASSES.fullmatch(part)) or None
    if name == "id":
        return value if _ID.fullmatch(value) else None
    if tag == "input" and name == "type":
        return "checkbox"
    return value
