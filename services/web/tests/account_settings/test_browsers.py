"""Browsers, by what they say of themselves."""

import pytest

from ingot_web.account_settings.rules.browsers import browser

CHROME = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Safari/537.36"
)
PHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/18.0 Safari/604.1"
)


@pytest.mark.parametrize(
    ("user_agent", "words"),
    [
        (CHROME, "Chrome on Linux"),
        (f"{CHROME} Edg/139.0", "Edge on Linux"),
        (CHROME.replace("X11; Linux x86_64", "Linux; Android 15"), "Chrome on Android"),
        (CHROME.replace("X11; Linux x86_64", "Linux; Android 15") + " EdgA/139.0", "Edge on Android"),
        (PHONE.replace("Version/18.0", "Version/18.0 EdgiOS/139.0"), "Edge on iPhone"),
        (PHONE, "Safari on iPhone"),
        ("Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Windows"),
        ("curl/8.1", "curl/8.1"),
        ("Firefox", "Firefox"),
        ("", "a browser"),
    ],
)
def test_a_browser_is_named_in_a_few_words(user_agent, words):
    assert browser(user_agent) == words
