"""The fields of a form that a browser has sent."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ingot_chassis.errors import Invalid


def whole_number(text: str, digits: int = 18) -> int | None:
    """Return the number in a text. None for any other text, or for more than ``digits`` digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None


def require_typed(text: str, name: str) -> None:
    """Raise Invalid unless the form repeats the name of the item to delete."""
    if text != name:
        raise Invalid(f"type {name} to do that; nothing was done")


class SentFile(NamedTuple):
    """A file that a form uploads."""

    name: str
    content: bytes


class Form(dict[str, str]):
    """The fields of a form by name: the last value of a repeated field, and "" for a missing field.

    ``all`` returns every value of a field.
    """

    def __init__(self, pairs: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(pairs)
        self.pairs = pairs
        self.files: list[SentFile] = []
        """Uploaded files of a form."""

    def __missing__(self, name: str) -> str:
        return ""

    def with_values(self, values: Mapping[str, str]) -> "Form":
        """Return the form with new values for these fields."""
        form = Form([pair for pair in self.pairs if pair[0] not in values] + list(values.items()))
        form.files = self.files
        return form

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key == name]

    def parts(self) -> list[bytes]:
        """Return all parts of the form as bytes."""
        fields = [text.encode("utf-8", "replace") for pair in self.pairs for text in pair]
        return [*fields, *(part for file in self.files for part in (file.name.encode(), file.content))]

    def ids(self, name: str) -> list[int]:
        """Return the ids in a field. Values that are no numbers are omitted."""
        return [number for value in self.all(name) if (number := whole_number(value)) is not None]

    def text(self, name: str) -> str:
        """Return the field without leading and trailing spaces; empty if it is missing."""
        return self.get(name, "").strip()

    def branch_to_make(self) -> str:
        """Return the name of the new branch for a commit; empty for an existing branch.

        Raises Invalid.
        """
        if self["to"] != "new":
            return ""
        if not (name := self.text("new_branch")):
            raise Invalid.field("new_branch", "required", "is empty; name the new branch")
        return name

    def lines(self, name: str) -> str:
        """Return a text of several lines. CRLF, which browsers send, becomes LF."""
        return self.get(name, "").replace("\r\n", "\n")

    def has(self, name: str) -> bool:
        """True if a checkbox was ticked."""
        return bool(self.get(name))
