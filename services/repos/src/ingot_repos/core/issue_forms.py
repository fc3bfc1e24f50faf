"""Reads the templates of issues that a repository has, and how its issues are to be begun.

They are YAML that anybody wrote: aliases and deep nesting are refused before anything is built of it.
"""

from typing import Annotated, Any, Literal, TypeVar

import msgspec
import yaml

MOST_BYTES = 64 * 1024
_DEEPEST = 30
_OPENING = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_CLOSING = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
_T = TypeVar("_T")
_Text = Annotated[str, msgspec.Meta(min_length=1)]


class IssueFormField(msgspec.Struct, kw_only=True):
    type: Literal["markdown", "textarea", "input", "dropdown", "checkboxes"]
    id: str = ""
    attributes: dict[str, Any] = {}
    validations: dict[str, Any] = {}
    visible: list[Literal["form", "content"]] = []


class IssueTemplate(msgspec.Struct, kw_only=True):
    """`content` is of a template in Markdown, `body` of one that is a form."""

    name: _Text
    about: str = ""
    title: str = ""
    labels: list[str] = []
    assignees: list[str] = []
    ref: str = ""
    content: str = ""
    body: list[IssueFormField] = []
    file_name: str = ""


class _Head(msgspec.Struct, kw_only=True):
    name: _Text
    about: str | None = None
    description: str | None = None
    title: str | None = None
    labels: list[str] | str | None = None
    assignees: list[str] | str | None = None
    ref: str | None = None
    body: list[IssueFormField] | None = None


class ContactLink(msgspec.Struct, kw_only=True):
    name: _Text
    url: _Text
    about: str = ""


class IssueConfig(msgspec.Struct, kw_only=True):
    """Whether issues can be begun without a template, and where else one can turn to."""

    blank_issues_enabled: bool = True
    contact_links: list[ContactLink] = []


class InvalidForm(ValueError):
    """The file is not as it has to be; the text says why."""


def read_template(path: str, content: bytes | None) -> IssueTemplate:
    """The template in a file. Raises InvalidForm."""
    text = _decoded(content).replace("\r\n", "\n")
    rest = ""
    if path.lower().endswith(".md"):
        start, separator, rest = text.removeprefix("---\n").partition("\n---\n")
        if not text.startswith("---\n") or not separator:
            raise InvalidForm("has no head between two lines of ---")
        text = start
    head = _convert(_load(text), _Head)
    return IssueTemplate(
        name=head.name,
        about=head.about or head.description or "",
        title=head.title or "",
        labels=_words(head.labels),
        assignees=_words(head.assignees),
        ref=head.ref or "",
        content=rest.lstrip("\n"),
        body=head.body or [],
        file_name=path,
    )


def read_config(content: bytes | None) -> IssueConfig:
    """The configuration in a file. Raises InvalidForm."""
    return _convert(_load(_decoded(content)) or {}, IssueConfig)


def _decoded(content: bytes | None) -> str:
    if content is None:
        raise InvalidForm(f"is larger than {MOST_BYTES} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidForm("is not UTF-8") from None


def _load(text: str) -> Any:
    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            depth += isinstance(event, _OPENING) - isinstance(event, _CLOSING)
            if isinstance(event, yaml.AliasEvent) or depth > _DEEPEST:
                raise InvalidForm("has aliases, or is nested too deep")
        return yaml.load(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, TypeError) as error:
        if isinstance(error, InvalidForm):
            raise
        raise InvalidForm("is not valid YAML") from None


def _convert(value: Any, type_: type[_T]) -> _T:
    """Raises InvalidForm, also for what cannot be answered as JSON: YAML has keys that are no text, too."""
    try:
        converted = msgspec.convert(value, type_)
        msgspec.json.encode(converted)
    except msgspec.ValidationError as error:
        raise InvalidForm(str(error)[:200]) from None
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        raise InvalidForm("has a key or a value that JSON has not") from None
    return converted


def _words(value: list[str] | str | None) -> list[str]:
    """A list, or words by comma."""
    if isinstance(value, str):
        value = value.split(",")
    return [word.strip() for word in value or [] if word.strip()]
