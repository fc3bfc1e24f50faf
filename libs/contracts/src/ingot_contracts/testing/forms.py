"""Forms of pages, which tests fill in and send like a browser, with the names and values of the page."""

from collections.abc import Mapping, Sequence
from html.parser import HTMLParser

Attributes = Mapping[str, str]


class PageForm:
    """A form of a page. ``values`` are sent unless a test changes them."""

    def __init__(self, action: str) -> None:
        self.action = action
        self.values: dict[str, list[str]] = {}
        self.buttons: dict[str, tuple[str, str]] = {}
        """Text of each button to the name and value that it adds. The name may be empty."""

    def press(self, button: str, **values: str | Sequence[str]) -> dict[str, list[str]]:
        """Return the data that a browser sends when the button with this text is pressed.

        Raises KeyError for a name or button that the form does not have.
        """
        sent = dict(self.values)
        for name, value in values.items():
            if name not in sent:
                raise KeyError(name)
            sent[name] = [value] if isinstance(value, str) else list(value)
        pressed, value = self.buttons[button]
        return sent | ({pressed: [value]} if pressed else {})


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[PageForm] = []
        self._form: PageForm | None = None
        self._name, self._button, self._text = "", ("", ""), ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._form = PageForm(of.get("action", ""))
            self.forms.append(self._form)
        elif self._form is None:
            return
        elif tag == "button":
            self._button, self._text = (of.get("name", ""), of.get("value", "")), ""
        elif tag in ("textarea", "select"):
            self._name, self._text = of.get("name", ""), ""
        elif tag == "option":
            values = self._form.values.setdefault(self._name, [])
            if not values or "selected" in of:
                values[:] = [of.get("value", "")]
        elif tag == "input" and of.get("name") and of.get("type") != "file":
            values = self._form.values.setdefault(of["name"], [])
            if of.get("type") not in ("checkbox", "radio") or "checked" in of:
                values.append(of.get("value", ""))

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if self._form is None:
            return
        if tag == "textarea":
            text = self._text.removeprefix("\n").replace("\n", "\r\n")
            self._form.values.setdefault(self._name, []).append(text)
        elif tag == "button":
            self._form.buttons[" ".join(self._text.split())] = self._button
        elif tag == "form":
            self._form = None


def form_of(html: str, to: str, button: str) -> PageForm:
    """Return the first form of a page with this button whose URL ends with ``to``. Raises LookupError."""
    reader = _Reader()
    reader.feed(html)
    for form in reader.forms:
        if form.action.endswith(to) and button in form.buttons:
            return form
    raise LookupError(
        f"no form leads to {to} by {button}: {[(one.action, list(one.buttons)) for one in reader.forms]}"
    )
