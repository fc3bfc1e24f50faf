"""QR codes: a phone reads the text from the drawing, and nothing in text or label becomes markup."""

import re

from ingot_web.account_settings.rules.qr_codes import qr_code

URI = "otpauth://totp/Ingot:ann?secret=ABCDEFGH&issuer=Ingot"
MARGIN = 4


def test_the_drawing_has_the_three_corners_that_a_phone_looks_for():
    picture = qr_code(URI, "code")
    side = int(re.search(r'viewBox="0 0 (\d+) ', picture)[1]) - 2 * MARGIN
    assert side in range(21, 42, 4)
    rows = re.search(r'stroke="#000" d="M4 4\.5([^"]*)"', picture)[1].split(f"m-{side} 1")
    first, last = rows[0], rows[-1]
    assert (first[:2], first[-2:], last[:2]) == ("h7", "h7", "h7")


def test_another_text_is_another_drawing():
    assert qr_code(URI, "code") != qr_code(URI + "x", "code")


def test_nothing_in_text_or_label_becomes_markup():
    assert 'aria-label="&lt;b&gt;"' in qr_code("<script>", "<b>")
    assert "script" not in qr_code("<script>", "code")


def test_a_text_that_is_empty_or_too_long_has_none():
    assert [bool(qr_code("é" * count, "code")) for count in (0, 1, 500, 501)] == [False, True, True, False]
