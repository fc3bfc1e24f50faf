"""Templates of issues that a repository has, and links to other places for questions."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class IssueDraft(NamedTuple):
    """Initial values of the form of a new issue."""

    title: str
    body: str
    labels: Sequence[str]
    """Names; they match without regard to case."""


EMPTY_DRAFT = IssueDraft("", "", ())


def draft_of(template: Mapping[str, Any]) -> IssueDraft:
    """Return the draft of a template.

    Questions of a form become headings, with room for answers below them.
    """
    sections = [_section(field) for field in template["body"]]
    body = "\n\n".join(section for section in sections if section) or template["content"]
    return IssueDraft(template["title"], body, template["labels"])


def _section(field: Mapping[str, Any]) -> str:
    """Return one question, with its description as a comment.

    Empty for text that only readers of the form see.
    """
    if field["type"] == "markdown":
        return ""
    attributes: Mapping[str, Any] = field["attributes"]
    options = [_option(option) for option in _items(attributes.get("options"))]
    lines = [f"### {_text(attributes, 'label') or field['id']}"]
    if description := _text(attributes, "description"):
        lines.append(f"<!-- {description} -->")
    if field["type"] == "checkboxes":
        lines.append("\n".join(f"- [ ] {option}" for option in options))
    elif options:
        lines.append(f"<!-- {', '.join(options)} -->")
    elif value := _text(attributes, "value"):
        lines.append(value)
    return "\n\n".join(lines)


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _option(option: Any) -> str:
    """Return the text of an option. Options of checkboxes are mappings."""
    return _text(option, "label") if isinstance(option, dict) else str(option)


def _text(attributes: Mapping[str, Any], name: str) -> str:
    """Return the stripped attribute; empty if the file does not have it."""
    return str(attributes.get(name) or "").strip()
