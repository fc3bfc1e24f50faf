"""Templates of issues in a repository, and links to other sites for questions."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ingot_web.forms.rules.fields import Form


class IssueDraft(NamedTuple):
    """Initial values of the form of a new issue."""

    title: str
    body: str
    labels: Sequence[str]
    """Names of labels. They match in any letter case."""
    assignees: Sequence[str]


EMPTY_DRAFT = IssueDraft("", "", (), ())


def template_of(templates: Sequence[Any] | None, form: Form) -> Any:
    """Return the template whose file name is in the form, or None."""
    return next((one for one in templates or () if one["file_name"] == form.text("template")), None)


def draft_of(template: Mapping[str, Any]) -> IssueDraft:
    """Return the draft of a template.

    Questions of a form that is too large to show become headings, with space for answers below them.
    """
    sections = [_section(field) for field in template["body"]]
    body = "\n\n".join(section for section in sections if section) or template["content"]
    return IssueDraft(template["title"], body, template["labels"], template["assignees"])


def _section(field: Mapping[str, Any]) -> str:
    """Return one question, with its description as a comment.

    Empty for text that is only shown in the form.
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
    """Return the attribute without surrounding spaces; empty if the file lacks it."""
    return str(attributes.get(name) or "").strip()
