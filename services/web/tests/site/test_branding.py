"""Logo, colour, links, terms and notice of a site, and the settings that are refused at the start."""

import base64
import re

import pytest

from ingot_chassis.settings import SettingsError, load
from ingot_web.pages.rules.accents import contrast
from ingot_web.settings import Settings

from ..world import World

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
GREEN = "#17693a #7fd69b"


async def test_a_site_without_branding_has_none(world):
    page = (await world.get("/explore/users")).text
    assert '<aside class="wrap site"' not in page
    assert "/-/assets/logo" not in page
    assert (await world.get("/-/assets/logo")).status_code == 404


async def test_links_terms_and_notice_are_on_every_page(tmp_path):
    world = World(
        site_links={"Help & advice": "https://help.example/?a=1&b"},
        site_terms="https://example.org/terms",
        site_notice="<b>Down</b> on Sunday",
    )
    for path in ("/explore/users", "/nobody/nothing"):
        page = (await world.get(path)).text
        assert '<a href="https://help.example/?a=1&amp;b">Help &amp; advice</a>' in page
        assert '<a href="https://example.org/terms">Terms</a></div></footer>' in page
        assert '<p class="notice">&lt;b&gt;Down&lt;/b&gt; on Sunday</p>' in page
    await world.close()


@pytest.mark.parametrize("as_url", [True, False])
async def test_the_logo_is_served_here(tmp_path, as_url):
    (tmp_path / "logo").write_bytes(PNG)
    url = "data:image/png;base64," + base64.b64encode(PNG).decode()
    world = World(site_logo=url if as_url else str(tmp_path / "logo"))
    page = (await world.get("/explore/users")).text
    assert re.search('<a class="brand" href="/"><img src="/-/assets/logo"[^>]* alt="">', page)
    logo = await world.get("/-/assets/logo")
    assert (logo.content, logo.headers["content-type"]) == (PNG, "image/png")
    assert logo.headers["x-content-type-options"] == "nosniff"
    await world.close()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (SVG, "is no PNG, JPEG, GIF or WebP"),
        (b"", "is no PNG, JPEG, GIF or WebP"),
        (PNG + bytes(65_536), "has more than 65536 bytes"),
        (None, "the file cannot be read: No such file or directory"),
    ],
)
def test_what_is_no_logo_is_refused_at_the_start(tmp_path, content, reason):
    if content is not None:
        (tmp_path / "logo").write_bytes(content)
    with pytest.raises(SettingsError, match=f"INGOT_SITE_LOGO=.*: .*{reason}"):
        World(site_logo=str(tmp_path / "logo"))


async def test_the_accent_colour_is_in_the_style_sheet_of_another_address(world):
    green = World(accent=GREEN)
    addresses = []
    for one in (world, green):
        page = (await one.get("/explore/users")).text
        addresses += re.findall(r'<link rel="stylesheet" href="([^"]+)"', page)
    plain, own = (await world.get(addresses[0])).text, (await green.get(addresses[1])).text
    assert addresses[0] != addresses[1]
    rule = own.removeprefix(plain)
    assert rule.startswith(":root:not([data-theme=contrast]) { --accent: light-dark(#17693a, #7fd69b);")
    light, dark = re.search(r"--accent-ground: light-dark\((#\w+), (#\w+)\)", rule).groups()
    assert contrast("#17693a", light) >= 4.5
    assert contrast("#7fd69b", dark) >= 4.5
    assert (await green.get("/-/assets/style.css")).text == own
    await green.close()


@pytest.mark.parametrize(
    ("accent", "reason"),
    [
        ("#ffcc00 #7fd69b", "in light, #ffcc00 has a contrast of 1.4 with #fbfaf8; 4.5 is needed"),
        ("#17693a #17693a", "in dark, #17693a has a contrast of"),
    ],
)
def test_a_colour_that_cannot_be_read_is_refused_at_the_start(accent, reason):
    with pytest.raises(SettingsError, match=f"INGOT_WEB_ACCENT='{accent}': {reason}"):
        World(accent=accent)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("INGOT_WEB_ACCENT", "green"),
        ("INGOT_SITE_LINKS", "Help=javascript:alert(1)"),
        ("INGOT_SITE_LINKS", "Help"),
        ("INGOT_SITE_LINKS", ",".join(f"{n}=https://x.example/" for n in range(11))),
        ("INGOT_SITE_TERMS", "//x.example/"),
        ("INGOT_SITE_NOTICE", "x" * 501),
    ],
)
def test_a_setting_of_another_form_is_named(name, text):
    environment = {"INGOT_WEB_PRIVATE_KEY": "x", name: text}
    with pytest.raises(SettingsError) as refused:
        load(Settings, "web", environment)
    assert [line.partition("=")[0] for line in refused.value.lines] == [name]
