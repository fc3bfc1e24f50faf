"""Fields with URLs: a request cannot store a scheme that runs code, and pages link to no such URL."""

import re
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import inspect

from ingot_contracts.limits import WEB_URL, is_web_url

from .apps import app_of

Website = Annotated[str, WEB_URL]
SERVICES = ("identity", "repos", "issues", "hooks", "mail")
PAGES = Path(__file__).parents[2] / "services/web/src/ingot_web"
ADDRESS = re.compile(r"(^|_)(url|uri|uris|link|website|homepage|addr|address|endpoint)(_|$)")
OTHER_RULES = (
    dict.fromkeys(
        ("CreateOAuth2Application.redirect_uris", "EditOAuth2Application.redirect_uris"),
        (
            "`oauth2/rules/redirect_uris.py` of identity takes schemes of programs as well, and no page "
            "links to them"
        ),
    )
    | dict.fromkeys(
        (
            "CreatePushMirror.remote_address",
            "ImportOrganizationForm.address",
            "MigrateRepoForm.clone_addr",
            "MigrateRepoForm.lfs_endpoint",
        ),
        "`remotes/rules/urls.py` of repos checks them, and pages show them as text",
    )
    | dict.fromkeys(
        ("HookConfig.icon_url", "HookConfig.url", "ServerHookConfig.icon_url", "ServerHookConfig.url"),
        "hooks send requests to the one, and the other in them; pages show them in form fields",
    )
)
"""Why a field has another rule."""
GOOD = (
    "",
    "http://example.org",
    "https://example.org/",
    "https://example.org:8443/a@b?c=d#e",
    "https://[::1]:3000/x",
    "https://b\u00fccher.example/\u00fc",
)
BAD = (
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "java\nscript:alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "file:///etc/passwd",
    "//example.org",
    "/relative",
    "example.org",
    "https:example.org",
    "https://",
    "https:///x",
    "https://user@example.org/",
    "https://user:secret@example.org/",
    "https://good.example\\@evil.example/",
    "https://example.org/\n",
    " https://example.org/",
    "https://example.org/ x",
    "https://exam\tple.org/",
    "https://example.org/\x01",
    "ssh://example.org/x",
)


@pytest.mark.parametrize("url", GOOD)
def test_web_addresses_are_taken(url):
    assert msgspec.convert(url, Website) == url
    assert is_web_url(url) is bool(url)


@pytest.mark.parametrize("url", BAD)
def test_other_addresses_are_refused_and_not_linked(url):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(url, Website)
    assert not is_web_url(url)


def structs(type_: Any) -> dict[str, inspect.StructType]:
    """The structs that a body of this type may have, by name."""
    reached: dict[str, inspect.StructType] = {}
    waiting: list[Any] = [inspect.type_info(type_)]
    while waiting:
        info = waiting.pop()
        if isinstance(info, inspect.StructType) and info.cls.__name__ not in reached:
            reached[info.cls.__name__] = info
            waiting += [field.type for field in info.fields]
        waiting += [*getattr(info, "types", ()), *filter(None, [getattr(info, "item_type", None)])]
        if isinstance(info, inspect.Metadata):
            waiting.append(info.type)
    return reached


def texts(info: Any) -> list[inspect.StrType]:
    if isinstance(info, inspect.StrType):
        return [info]
    parts = [
        *getattr(info, "types", ()),
        *filter(None, [getattr(info, "item_type", getattr(info, "type", None))]),
    ]
    return [text for part in parts for text in texts(part)]


@pytest.mark.parametrize("service", SERVICES)
def test_each_address_that_a_request_stores_is_checked(service, tmp_path):
    bodies: dict[str, inspect.StructType] = {}
    for route in app_of(service, tmp_path).routes:
        for handler in getattr(route, "route_handlers", []):
            body = handler.parsed_fn_signature.parameters.get("data")
            if body is not None and route.path_format.startswith("/api/v1"):
                bodies |= structs(body.annotation)
    assert bodies
    unchecked = [
        f"{name}.{field.encode_name}"
        for name, info in bodies.items()
        for field in info.fields
        if ADDRESS.search(field.encode_name)
        for text in texts(field.type)
        if text.pattern != WEB_URL.pattern
    ]
    assert sorted(set(unchecked) - OTHER_RULES.keys()) == [], sorted(set(unchecked))


def test_pages_link_to_the_address_of_somebody_else_only_if_it_is_one():
    """In templates these come in `href` behind the test `web_url`, and none of them in another attribute."""
    uses = [
        (file.name, match[1], match[2])
        for file in sorted(PAGES.glob("*/templates/*.html"))
        for match in re.finditer(
            r"""((?:\{%[^%]*%\}[^{]*)?)(?:href|src|action)="\{\{ *"""
            r"""([a-z_.]*(?:website|target_url|homepage|external_\w+_url))""",
            file.read_text(),
        )
    ]
    assert len(uses) == 3
    for file, guard, field in uses:
        assert f"{field} is web_url" in guard, (file, field)
