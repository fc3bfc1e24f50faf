"""Parsing of issue templates and of the issue configuration of a repository.

These files are YAML from users, so they are not trusted. Aliases, tags, deep nesting and too many parts are
rejected before any object is built.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
import yaml

MOST_BYTES = 64 * 1024
MOST_PARTS = 20_000
"""Limit of YAML parts in all templates of a repository together; takes about 0.2 s."""
_DEEPEST = 30
_TAG = "tag:yaml.org,2002:"
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
    """An issue template. `content` is set for Markdown, `body` for a form."""

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
    """The issue configuration: whether issues may have no template, and links to other contacts."""

    blank_issues_enabled: bool = True
    contact_links: list[ContactLink] = []


class InvalidForm(ValueError):
    """The file is invalid; the text is the reason."""


class PartBudget:
    """The number of YAML parts (values, and ends of lists and mappings) that may still be read."""

    def __init__(self, left: int = MOST_PARTS) -> None:
        self.left = left

    def take(self) -> None:
        """Count one part. Raises InvalidForm if the budget is used up."""
        self.left -= 1
        if self.left < 0:
            raise InvalidForm("has too many parts")


class _Loader(yaml.CSafeLoader):  # type: ignore[misc]
    """A YAML loader for true and false, null, and numbers with few digits. All other values are text.

    YAML has more types. For some of them PyYAML needs quadratic time, or fails with unexpected errors.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012 - as in its base class
        first: [(tag, pattern) for tag, pattern in resolvers if tag in (f"{_TAG}null", f"{_TAG}bool")]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }


_INTEGER = r"[-+]?(?:0|[1-9][0-9]{0,14})"
for _name, _pattern in (("int", rf"{_INTEGER}\Z"), ("float", rf"{_INTEGER}\.[0-9]{{1,15}}\Z")):
    _Loader.add_implicit_resolver(f"{_TAG}{_name}", re.compile(_pattern), list("-+0123456789"))


def read_templates(files: Mapping[str, bytes | None]) -> tuple[list[IssueTemplate], int]:
    """Return the templates in the order of ``files``, and the number of invalid files.

    Blocks the thread for up to about 0.2 s (see `MOST_PARTS`).
    """
    templates, budget = [], PartBudget()
    for path, content in files.items():
        try:
            templates.append(read_template(path, content, budget))
        except InvalidForm:
            continue
    return templates, len(files) - len(templates)


def read_template(path: str, content: bytes | None, budget: PartBudget | None = None) -> IssueTemplate:
    """Parse a template file. Raises InvalidForm."""
    text = _decoded(content).replace("\r\n", "\n")
    rest = ""
    if path.lower().endswith(".md"):
        start, separator, rest = text.removeprefix("---\n").partition("\n---\n")
        if not text.startswith("---\n") or not separator:
            raise InvalidForm("has no head between two lines of ---; add one")
        text = start
    head = _convert(_load(text, budget), _Head)
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
    """Parse a configuration file. Raises InvalidForm."""
    return _convert(_load(_decoded(content)) or {}, IssueConfig)


def _decoded(content: bytes | None) -> str:
    if content is None:
        raise InvalidForm(f"is larger than {MOST_BYTES} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidForm("is not UTF-8") from None


def _load(text: str, budget: PartBudget | None = None) -> Any:
    budget = budget or PartBudget()
    depth = 0
    try:
        for event in yaml.parse(text, Loader=_Loader):
            budget.take()
            depth += isinstance(event, _OPENING) - isinstance(event, _CLOSING)
            if isinstance(event, yaml.AliasEvent) or getattr(event, "tag", None) or depth > _DEEPEST:
                raise InvalidForm("has aliases or tags, or is nested too deep")
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - it is a safe one
    except yaml.YAMLError:
        raise InvalidForm("is not valid YAML") from None


def _convert(value: Any, type_: type[_T]) -> _T:
    """Convert a value. Raises InvalidForm, also for values without a JSON form.

    For example, keys in YAML may be other values than text.
    """
    try:
        converted = msgspec.convert(value, type_)
        msgspec.json.encode(converted)
    except msgspec.ValidationError as error:
        raise InvalidForm(str(error)[:200]) from None
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        raise InvalidForm("has a key or a value that JSON does not support") from None
    return converted


def _words(value: list[str] | str | None) -> list[str]:
    """Return the words of a list, or of a text separated by commas."""
    if isinstance(value, str):
        value = value.split(",")
    return [word.strip() for word in value or [] if word.strip()]
