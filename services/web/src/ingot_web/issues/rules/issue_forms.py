"""Issue forms of a repository: the fields of a template, their validation, and the text of the issue.

The text has the format of Gitea: a heading for each field, and the answer below it. Any user with write
access can write the template files, so attributes of a wrong type are ignored.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import re2
from markupsafe import Markup

from ingot_web.forms.rules.fields import Form

MOST_FIELDS = 100
MOST_OPTIONS = 1_000
"""Limits of a form, because each part takes room on the page. Larger forms are not shown as forms."""
FIELD = "field-"
"""The beginning of the names of fields in the form of a page."""
NO_RESPONSE = "_No response_"
LONGEST_PATTERN, MOST_PATTERNS = 1_000, 10
"""Limits of the characters of a pattern, and of the patterns of a form. Patterns above them are ignored."""
LONGEST_ANSWER = 1_000
"""Maximum characters of an answer that a pattern checks. This limits the time of a match."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,50}")
_FENCE = re.compile(r"`{3,}")
_RE2 = re2.Options()
_RE2.log_errors = False
_RE2.never_capture = True
_RE2.max_mem = 256 * 1024


class FormOption(msgspec.Struct, frozen=True):
    """An option of a dropdown, or a checkbox."""

    label: str
    is_required: bool = False
    is_in_form: bool = True
    is_in_text: bool = True


class FormField(msgspec.Struct, frozen=True, kw_only=True):
    """A field of a form. ``value`` is its initial text; for ``markdown`` it is the text to show.

    ``pattern`` is a regular expression for the whole text of an ``input``, like the HTML attribute.
    """

    name: str
    id: str
    type: str
    label: str
    description: str = ""
    placeholder: str = ""
    value: str = ""
    render: str = ""
    options: list[FormOption] = []
    default: str = ""
    is_required: bool = False
    is_multiple: bool = False
    is_number: bool = False
    pattern: str = ""
    is_list: bool = False
    has_heading: bool = True
    is_in_form: bool = True
    is_in_text: bool = True

    @property
    def offered(self) -> list[FormOption]:
        """Return the options that the form shows."""
        return [option for option in self.options if option.is_in_form]


def fields_of(template: Mapping[str, Any]) -> list[FormField]:
    """Return the fields of a template; empty for a Markdown template, and for a form above the limits."""
    fields: list[FormField] = []
    names = set[str]()
    patterns = 0
    for position, raw in enumerate(template["body"]):
        field = _field(raw, position)
        if field.name in names:
            field = msgspec.structs.replace(field, name=f"{FIELD}{position}.")
        names.add(field.name)
        patterns += bool(field.pattern)
        if patterns > MOST_PATTERNS:
            field = msgspec.structs.replace(field, pattern="")
        fields.append(field)
    is_small = len(fields) <= MOST_FIELDS and sum(len(one.options) for one in fields) <= MOST_OPTIONS
    return fields if is_small else []


def _field(raw: Mapping[str, Any], position: int) -> FormField:
    attributes, validations = _mapping(raw.get("attributes")), _mapping(raw.get("validations"))
    kind, field_id = raw["type"], str(raw.get("id") or "")
    options = [_option(one) for one in _items(attributes.get("options"))]
    default = attributes.get("default")
    is_index = isinstance(default, int) and not isinstance(default, bool) and 0 <= default < len(options)
    pattern = _text(validations, "regex") if kind == "input" else ""
    visible = _items(raw.get("visible")) or (["form"] if kind == "markdown" else ["form", "content"])
    return FormField(
        name=FIELD + (field_id if _ID.fullmatch(field_id) else f"{position}."),
        id=field_id,
        type=kind,
        label=_text(attributes, "label") or field_id or f"Question {position + 1}",
        description=_text(attributes, "description"),
        placeholder=_text(attributes, "placeholder"),
        value=_text(attributes, "value"),
        render=_text(attributes, "render").split("\n")[0].replace("`", ""),
        options=[option for option in options if option.label],
        default=options[default].label if is_index and default is not None else "",
        is_required=validations.get("required") is True,
        is_multiple=attributes.get("multiple") is True,
        is_number=validations.get("is_number") is True,
        pattern=pattern if len(pattern) <= LONGEST_PATTERN else "",
        is_list=attributes.get("list") is True,
        has_heading=attributes.get("hide_label") is not True and kind != "markdown",
        is_in_form="form" in visible,
        is_in_text="content" in visible,
    )


def _option(raw: Any) -> FormOption:
    """Return an option. Options of checkboxes are mappings."""
    if not isinstance(raw, dict):
        return FormOption(_one_line(raw))
    visible = _items(raw.get("visible")) or ["form", "content"]
    return FormOption(
        label=_one_line(raw.get("label") or ""),
        is_required=raw.get("required") is True,
        is_in_form="form" in visible,
        is_in_text="content" in visible,
    )


def inline(html: Markup | None, text: str) -> str:
    """Return rendered text without its paragraph; ``text`` if the HTML is not a single paragraph."""
    inner = html.strip().removeprefix("<p>").removesuffix("</p>") if html else ""
    is_one = html is not None and html.strip() == f"<p>{inner}</p>" and "<p>" not in inner
    return Markup(inner) if is_one else text  # noqa: S704 - issues sanitizes it


def answers_of(field: FormField, form: Form) -> list[str]:
    """Return the answers in a form: one text, or the labels of the chosen options."""
    if field.type in ("dropdown", "checkboxes"):
        chosen = set(form.all(field.name))
        labels = [option.label for option in field.offered if option.label in chosen]
        return labels if field.is_multiple or field.type == "checkboxes" else labels[:1]
    text = form.text(field.name) if field.type == "input" else form.lines(field.name).strip()
    return [text] if text else []


def initial_answers(field: FormField, query: Form) -> list[str]:
    """Return the initial answers of a form. A link can contain answers by the id of their field."""
    if field.id and field.id in query:
        return query.all(field.id)
    if field.type in ("dropdown", "checkboxes"):
        return [field.default] if field.default else []
    return [field.value] if field.value else []


def problems_of(fields: Sequence[FormField], form: Form) -> dict[str, str]:
    """Return the error of each invalid answer, by the name of its field."""
    problems: dict[str, str] = {}
    for field in fields:
        if field.is_in_form and (problem := _problem(field, answers_of(field, form))):
            problems[field.name] = problem
    return problems


def _problem(field: FormField, answers: Sequence[str]) -> str:
    if field.type == "checkboxes":
        missing = [one.label for one in field.offered if one.is_required and one.label not in answers]
        if missing:
            return f"Select: {', '.join(missing)}"
    if field.type == "markdown":
        return ""
    if field.is_required and not answers:
        return "Select an option" if field.options else "Fill in this field"
    if field.is_number and field.type == "input" and answers and not _is_number(answers[0]):
        return "Write a number"
    return _pattern_problem(field.pattern, answers[0]) if field.pattern and answers else ""


def _pattern_problem(pattern: str, text: str) -> str:
    if len(text) > LONGEST_ANSWER:
        return f"Write at most {LONGEST_ANSWER:,} characters"
    return "" if _matches(pattern, text) else f"Write it in the format {pattern}"


def text_of(fields: Sequence[FormField], form: Form) -> str:
    """Return the text of the issue in the format of Gitea."""
    return "".join(_section(field, answers_of(field, form)) for field in fields if field.is_in_text)


def _section(field: FormField, answers: Sequence[str]) -> str:
    heading = f"### {_one_line(field.label)}\n\n" if field.has_heading else ""
    return f"{heading}{_answer(field, answers)}\n\n"


def _answer(field: FormField, answers: Sequence[str]) -> str:
    if field.type == "markdown":
        return field.value
    if field.type == "checkboxes":
        options = [option for option in field.options if option.is_in_text]
        return "\n".join(f"- [{'x' if one.label in answers else ' '}] {one.label}" for one in options)
    if not answers:
        return NO_RESPONSE
    if field.type == "dropdown":
        return "\n".join(f"- {one}" for one in answers) if field.is_list else ", ".join(answers)
    if field.render and field.type == "textarea":
        fence = max((len(run) + 1 for run in _FENCE.findall(answers[0])), default=3) * "`"
        return f"{fence}{field.render}\n{answers[0]}\n{fence}"
    return answers[0]


def _matches(pattern: str, text: str) -> bool:
    """True if the pattern matches the whole text. Takes linear time.

    Also True for a pattern that needs too much memory, or that only browsers support, such as a lookahead.
    Browsers check these patterns.
    """
    try:
        return re2.fullmatch(pattern, text, _RE2) is not None
    except re2.error:
        return True
    finally:
        re2.purge()  # its cache holds memory for each pattern


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?(\d{1,300}(\.\d{0,300})?|\.\d{1,300})", text, re.ASCII) is not None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(attributes: Mapping[str, Any], name: str) -> str:
    """Return the attribute without surrounding spaces; empty if it is neither a text nor a number."""
    value = attributes.get(name)
    return str(value).strip() if isinstance(value, str | int | float) else ""


def _one_line(value: Any) -> str:
    return " ".join(str(value).split())
