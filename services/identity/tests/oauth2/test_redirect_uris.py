"""Redirect addresses: those that may be registered, and those of a request that count as registered."""

import pytest

from ingot_chassis.errors import Invalid
from ingot_identity.oauth2.rules import redirect_uris


@pytest.mark.parametrize(
    "uri",
    [
        "https://ci.example.com/cb",
        "https://ci.example.com:8443/cb?tenant=1",
        "https://ci.example.com",
        "http://127.0.0.1",
        "http://127.0.0.1:1234/cb",
        "http://[::1]:80/cb",
        "http://localhost:3000/cb",
        "com.example.app:/oauth",
        "myapp://callback",
    ],
)
def test_good_addresses_may_be_registered(uri):
    assert redirect_uris.check([uri], tls=True) == [uri]


def test_addresses_without_tls_may_be_registered_where_ingot_has_none_either():
    assert redirect_uris.check(["http://ci.example.com/cb"], tls=False) == ["http://ci.example.com/cb"]
    with pytest.raises(Invalid):
        redirect_uris.check(["javascript:alert(1)"], tls=False)


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "/cb",
        "//ci.example.com/cb",
        "ci.example.com/cb",
        "http://ci.example.com/cb",
        "http://127.0.0.1.example.com/cb",
        "http://localhost.example.com/cb",
        "http://2130706433/cb",
        "http://user@127.0.0.1/cb",
        "https://user:pass@ci.example.com/cb",
        "https://ci.example.com/cb#part",
        "https://ci.example.com/cb#",
        "https://*.example.com/cb",
        "https://ci.example.com/*",
        "https:///cb",
        "https://",
        "https:cb",
        "https://ci.example.com:port/cb",
        "https://ci.example.com:99999/cb",
        "https://[::1/cb",
        "https://ci.example.com/a b",
        "https://ci.example.com/a\r\nSet-Cookie: x",
        "https://ci.example.com\\@evil.example.com/",
        "https://bücher.example.com/cb",
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "vbscript:x",
        "blob:https://x.io/1",
        "urn",
        "app:",
    ],
)
def test_bad_addresses_may_not_be_registered(uri):
    with pytest.raises(Invalid):
        redirect_uris.check(["https://ci.example.com/cb", uri], tls=True)


REGISTERED = ["https://ci.example.com/cb", "http://127.0.0.1/cb", "http://[::1]:5000/cb", "myapp://callback"]


@pytest.mark.parametrize(
    "uri",
    [
        *REGISTERED,
        "http://127.0.0.1:53211/cb",
        "http://[::1]:9/cb",
    ],
)
def test_a_registered_address_is_recognized_on_any_port_of_this_device(uri):
    assert redirect_uris.is_registered(uri, REGISTERED)


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "https://ci.example.com/cb/",
        "https://ci.example.com/CB",
        "https://CI.example.com/cb",
        "https://ci.example.com:8443/cb",
        "https://ci.example.com/cb?x=1",
        "https://ci.example.com/cb#x",
        "https://ci.example.com/cb/../evil",
        "https://ci.example.com.evil.example/cb",
        "https://ci.example.com@evil.example/cb",
        "http://ci.example.com/cb",
        "http://127.0.0.1:53211/other",
        "http://127.0.0.1:53211/cb?x=1",
        "http://127.0.0.1:53211/cb#x",
        "http://127.0.0.1:80@evil.example/cb",
        "http://127.0.0.1:abc/cb",
        "http://127.0.0.2/cb",
        "http://localhost/cb",
        "https://127.0.0.1/cb",
        "http://evil@127.0.0.1/cb",
        "myapp://callback/more",
        "https://[",
    ],
)
def test_any_other_address_is_not_registered(uri):
    assert not redirect_uris.is_registered(uri, REGISTERED)


@pytest.mark.parametrize(
    ("uri", "source"),
    [
        ("https://ci.example.com:8443/cb?x=1", "https://ci.example.com:8443"),
        ("http://127.0.0.1:5000/cb", "http://127.0.0.1:5000"),
        ("http://[::1]:5000/cb", "http:"),
        ("myapp://callback", "myapp:"),
    ],
)
def test_a_form_may_lead_to_the_address(uri, source):
    assert redirect_uris.form_action(uri) == source
