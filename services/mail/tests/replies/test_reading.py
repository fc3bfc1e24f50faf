"""The text of a reply: what its sender wrote, from the bodies that mail programs make."""

import random
import time
from datetime import UTC, datetime
from email.message import EmailMessage
from html.parser import HTMLParser

import pytest

from ingot_mail.replies.rules.headers import (
    MOST_HEADER_BYTES,
    MOST_SENDER_CHARACTERS,
    UnreadableError,
    read_header,
)
from ingot_mail.replies.rules.html_text import text_of_html
from ingot_mail.replies.rules.quotes import cut_quotes
from ingot_mail.replies.rules.reading import MOST_HTML_BYTES, MOST_LINES, MOST_NESTED, MOST_PARTS, read_text

TEXT = "I agree.\n\nTwo paragraphs."
QUOTED = "> ann commented on issue #12.\n>\n> A text\n> -- \n> You get this mail because …"
INGOT = "Ingot <reply+abc@example.org>"
FOLLOWED = {
    "Gmail": f"On Sun, Nov 29, 2026 at 10:00 AM {INGOT} wrote:\n\n{QUOTED}",
    "Gmail, wrapped": f"On Sun, Nov 29, 2026 at 10:00 AM Ingot\n<reply+abc@example.org> wrote:\n\n{QUOTED}",
    "Gmail, wrapped twice": f"On Sun, Nov 29, 2026 at\n10:00 AM Ingot\n<r+abc@example.org> wrote:\n{QUOTED}",
    "Apple Mail": f"On 29. Nov 2026, at 10:00, {INGOT} wrote:\n\n{QUOTED}",
    "Thunderbird": f"On 11/29/26 10:00, Ingot wrote:\n{QUOTED}",
    "Thunderbird, German": f"Am 29.11.26 um 10:00 schrieb Ingot:\n{QUOTED}",
    "Gmail, German": f"Am So., 29. Nov. 2026 um 10:00 Uhr schrieb {INGOT}:\n\n{QUOTED}",
    "Thunderbird, French": f"Le 29/11/2026 à 10:00, Ingot a écrit :\n{QUOTED}",
    "Gmail, French": f"Le dim. 29 nov. 2026 à 10:00, {INGOT} a\nécrit :\n\n{QUOTED}",
    "Gmail, Spanish": f"El dom, 29 nov 2026 a las 10:00, Ingot (<r+abc@example.org>) escribió:\n\n{QUOTED}",
    "Gmail, Italian": f"Il giorno dom 29 nov 2026 alle ore 10:00 {INGOT} ha scritto:\n\n{QUOTED}",
    "Gmail, Portuguese": f"Em dom., 29 de nov. de 2026 às 10:00, {INGOT} escreveu:\n\n{QUOTED}",
    "Gmail, Dutch": f"Op zo 29 nov 2026 om 10:00 schreef {INGOT}:\n\n{QUOTED}",
    "Gmail, Chinese": f"{INGOT} 于2026年11月29日周日 10:00写道\uff1a\n\n{QUOTED}",
    "Apple Mail, Chinese": f"在 2026年11月29日\uff0c10:00\uff0c{INGOT} 写道\uff1a\n\n{QUOTED}",
    "Thunderbird, Chinese": f"在 2026/11/29 10:00, Ingot 写道:\n{QUOTED}",
    "Gmail, traditional Chinese": f"{INGOT} 於 2026年11月29日 週日 上午10:00寫道\uff1a\n\n{QUOTED}",
    "quotes without an introduction": QUOTED,
    "an introduction without quotes": f"On Sun, Nov 29, 2026 at 10:00 AM {INGOT} wrote:\nA text",
    "Outlook": "-----Original Message-----\nFrom: Ingot\nSent: Sunday\nTo: Bob\nSubject: A title\n\nA text",
    "Outlook, German": "-----Ursprüngliche Nachricht-----\nVon: Ingot\nGesendet: Sonntag\nAn: Bob\n\nA text",
    "Outlook, French": "-----Message d'origine-----\nDe : Ingot\nEnvoyé : dimanche\nÀ : Bob\n\nA text",
    "Outlook, Chinese": "-----原始邮件-----\n发件人: Ingot\n发送时间: 2026-11-29\n收件人: Bob\n\nA text",
    "Outlook on the web": f"{'_' * 32}\nFrom: {INGOT}\nSent: Sunday, November 29, 2026\nTo: Bob\n\nA text",
    "Outlook without a separator": f"From: {INGOT}\nSent: Sunday\nTo: Bob\nSubject: A title\n\nA text",
    "Outlook, German, bold": "*Von:* Ingot\n*Gesendet:* Sonntag\n*An:* Bob\n*Betreff:* A title\n\nA text",
    "Outlook, French, web": f"{'_' * 32}\nDe : Ingot\nEnvoyé : dimanche\nÀ : Bob\nObjet : A title\n\nA text",
    "Outlook, Chinese, web": "发件人\uff1aIngot\n日期\uff1a2026年11月29日\n收件人\uff1aBob\n主题\uff1aA title\n\nA text",
    "forwarded": "---------- Forwarded message ---------\nFrom: Ingot\nDate: Sunday\n\nA text",
    "forwarded, German": "-------- Weitergeleitete Nachricht --------\nVon: Ingot\nDatum: Sonntag\n\nA text",
    "forwarded, French": "---------- Message transféré ---------\nDe : Ingot\nDate : dimanche\n\nA text",
    "forwarded by Apple Mail": "Begin forwarded message:\n\nFrom: Ingot\nSubject: A title\n\nA text",
    "signature": "-- \nBob\nExample Ltd",
    "signature without its space": "--\nBob",
    "signature and quote": f"-- \nBob\n\nOn 2026-11-29 at 10:00 {INGOT} wrote:\n{QUOTED}",
    "iPhone": "Sent from my iPhone",
    "iPhone, German": "Von meinem iPhone gesendet",
    "iPhone, French": "Envoyé de mon iPhone",
    "iPhone, Chinese": "发自我的iPhone",
    "iPhone and quote": f"Sent from my iPhone\n\n> On Nov 29, 2026, at 10:00, {INGOT} wrote:\n> \n> A text",
    "Outlook for Android": "Get Outlook for Android<https://aka.ms/AAb9ysg>",
}
OWN_WORDS = {
    "a word of the introductions": "On Monday I wrote:\nthat it works.",
    "a colon": "She wrote 3 things:\n\n- one\n- two",
    "headers": "From: the beginning\nI liked it.",
    "a rule": "one\n\n---\n\ntwo",
    "a table": "| a | b |\n|------|------|\n| 1 | 2 |",
    "code": "    $ ls -- file\n    --option",
    "a mention": "@ann see #3, it's from:me",
    "a link": "[a](http://forge.test/ann/app)",
    "a quote with an answer": "> A question?\n\nAn answer.",
    "a list": "- Sent it.\n- To: do",
}


def message(body, *, subtype="plain", charset="utf-8"):
    mail = EmailMessage()
    mail["From"] = "bob@example.org"
    mail.set_content(body, subtype=subtype, charset=charset)
    return mail


def text_of(content):
    return read_text(content if isinstance(content, bytes) else content.as_bytes())


@pytest.mark.parametrize("rest", FOLLOWED.values(), ids=FOLLOWED.keys())
def test_what_follows_a_reply_is_cut(rest):
    assert cut_quotes(f"{TEXT}\n\n{rest}\n") == TEXT


@pytest.mark.parametrize("rest", FOLLOWED.values(), ids=FOLLOWED.keys())
def test_nothing_but_a_quote_is_an_empty_reply(rest):
    assert cut_quotes(f"\n{rest}\n") == ""


@pytest.mark.parametrize("text", OWN_WORDS.values(), ids=OWN_WORDS.keys())
def test_own_words_stay(text):
    assert cut_quotes(text) == text


@pytest.mark.parametrize("rest", list(FOLLOWED.values())[:17], ids=list(FOLLOWED)[:17])
def test_an_introduction_right_below_the_text(rest):
    assert cut_quotes(f"Hello a@b.example\n{rest}") == "Hello a@b.example"


def test_a_reply_below_the_quote():
    assert cut_quotes(f"On 2026-11-29 at 10:00 {INGOT} wrote:\n{QUOTED}\n\n{TEXT}\n\n-- \nBob") == TEXT


def test_answers_between_quotes_keep_the_later_quotes():
    body = f"On 2026-11-29 at 10:00 {INGOT} wrote:\n> First?\n\nYes.\n\n> Second?\n\nNo.\n\n> The rest"
    assert cut_quotes(body) == "Yes.\n\n> Second?\n\nNo."


@pytest.mark.parametrize(
    "text",
    [
        "On " * 200_000,
        "\n".join(["On 10:00 @ wrote"] * 50_000),
        "\n".join(["_" * 25] * 50_000),
        "_" * 25 + "\n" * 200_000,
        "\n".join(["From: x"] * 50_000),
        ">" * 500_000,
        "-" * 500_000,
        "wrote " * 100_000 + ":",
    ],
    ids=range(8),
)
def test_hostile_texts_cost_little(text):
    started = time.process_time()
    cut_quotes(text)
    assert time.process_time() - started < 5


def test_plain_text_is_preferred():
    mail = message("Plain")
    mail.add_alternative("<p>Rich</p>", subtype="html")
    mail.add_attachment(b"a file", maintype="image", subtype="png", filename="a.png")
    assert text_of(mail) == "Plain"


def test_html_becomes_text():
    body = (
        "<style>p {color: red}</style><script>alert(1)</script><p>One &amp; <b>two</b>\nlines</p>"
        "<div>Three<br>four</div><ul><li>five</li></ul><img src=x onerror=alert(1)>"
        "<div class=gmail_quote><div>On 2026-11-29 at 10:00 Ingot &lt;a@b&gt; wrote:<br></div>"
        "<blockquote>A text</blockquote></div>"
    )
    assert text_of(message(body, subtype="html")) == "One & two lines\nThree\nfour\nfive"


def test_html_of_outlook():
    headers = "<b>From:</b> Ingot<br><b>Sent:</b> Sunday<br><b>To:</b> Bob"
    body = f"<div>Yes</div><hr><div>{headers}</div><div>A text</div>"
    assert text_of(message(body, subtype="html")) == "Yes"


def test_markup_in_texts_stays_text():
    assert text_of(message("<p>&lt;script&gt;</p>", subtype="html")) == "<script>"


@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1", "windows-1252"])
def test_charsets(charset):
    assert text_of(message("Größe", charset=charset)) == "Größe"


@pytest.mark.parametrize(
    "charset", ["unknown-8bit", "base64", "punycode", "undefined", "idna", "", "a\x00b", "utf-7"]
)
def test_faulty_charsets_do_not_raise(charset):
    raw = f"From: bob@example.org\r\nContent-Type: text/plain; charset={charset}\r\n\r\nHello \udce9\r\n"
    assert text_of(raw.encode("utf-8", "surrogateescape")).startswith("Hello")


def test_bytes_that_are_not_of_the_charset():
    raw = b"From: bob@example.org\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nGr\xf6\xdfe\r\n"
    assert text_of(raw) == "Gr\ufffd\ufffde"


def test_encoded_bodies():
    headers = "From: b@example.org\r\nContent-Type: text/plain; charset=utf-8\r\n"
    raw = headers + "Content-Transfer-Encoding: {}\r\n\r\n{}\r\n"
    assert text_of(raw.format("quoted-printable", "Gr=C3=B6=\r\n=C3=9Fe").encode()) == "Größe"
    assert text_of(raw.format("base64", "R3LDtsOfZQ==").encode()) == "Größe"
    assert text_of(raw.format("base64", "R3LDtsOfZ").encode()) != ""


def test_a_flowed_text_is_unwrapped():
    raw = (
        "From: b@example.org\r\nContent-Type: text/plain; format=flowed\r\n\r\n"
        "One line that \r\nwas wrapped.\r\n\r\nAnother.\r\n-- \r\nBob\r\n"
    )
    assert text_of(raw.encode()) == "One line that was wrapped.\n\nAnother."


def test_control_characters_are_removed():
    assert text_of(message("a\x00b\x1bc\u2028d")) == "abcd"


@pytest.mark.parametrize("name", ["From: Bob", "From: ", "From: a@b, c@d", "From: a@b\r\nFrom: a@b", "X: y"])
def test_a_mail_without_one_sender_has_none(name):
    assert read_header(f"{name}\r\n\r\nHello".encode(), 1000).sender == ""


def test_an_address_with_odd_characters_is_no_sender():
    assert read_header(b'From: "a b"@example.org\r\n\r\nHello', 1000).sender == ""


def test_a_sender_whose_header_is_long_is_none():
    raw = f"From: {'a' * MOST_SENDER_CHARACTERS} <bob@example.org>\r\n\r\nHello"
    assert read_header(raw.encode(), 10_000).sender == ""


def test_an_encoded_name_of_a_sender():
    raw = b"From: =?utf-8?q?B=C3=B6b?=\r\n <bob@example.org>\r\n\r\nHello"
    assert read_header(raw, 1000).sender == "bob@example.org"


@pytest.mark.parametrize("end", [b"\r\n", b"\n", b"\r"], ids=repr)
def test_recipients_are_read_as_they_stand(end):
    raw = end.join([b"To: a,", b" \xff <b@example.org>", b"TO: c", b"", b"Cc: d"])
    assert list(read_header(raw, 1000).recipients) == ["a, \ufffd <b@example.org>", "c"]


def test_a_mail_has_a_largest_size_and_its_header_too():
    with pytest.raises(UnreadableError, match="larger than 10 bytes"):
        read_header(b"x" * 11, 10)
    line = b"To: a\r\n"
    with pytest.raises(UnreadableError, match="header"):
        read_header(line * (MOST_HEADER_BYTES // len(line) + 1) + b"\r\n", 1_000_000)


@pytest.mark.parametrize("name", ["To", "Cc", "Delivered-To"])
@pytest.mark.parametrize("value", ["a," * 30_000, "(" + "a " * 30_000 + ")", "a " * 30_000, '"' * 60_000])
def test_hostile_recipients_are_not_parsed(name, value):
    # The parser of addresses takes seconds to minutes for each of them.
    assert read_header(f"{name}: {value}\r\n\r\n".encode(), 100_000).recipients == [value.strip()]


NESTED = [
    "boundary=b{}",
    "boundary =b{}",
    "boundary*=b{}",
    "boundary*0=b{}",
    "x=\"boundary\";boundary*=utf-8''b{}",
]


@pytest.mark.parametrize("spelled", NESTED)
def test_multiparts_are_counted_however_they_are_written(spelled):
    def nested(depth):
        opening = "Content-Type: multipart/mixed; {}\r\n\r\n--b{}\r\n"
        levels = [opening.format(spelled.format(number), number) for number in range(depth)]
        return "".join([*levels, "\r\nHello\r\n"]).encode()

    assert text_of(nested(MOST_NESTED)) == "Hello"
    with pytest.raises(UnreadableError, match="multiparts"):
        text_of(nested(MOST_NESTED + 1))


def test_parts_are_counted():
    raw = b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + b"--b\r\n\r\nHello\r\n" * MOST_PARTS
    with pytest.raises(UnreadableError, match="parts"):
        text_of(raw)


def test_lines_and_headers_of_parts_are_limited():
    with pytest.raises(UnreadableError, match="lines"):
        text_of(b"\r\n" * (MOST_LINES + 1))
    with pytest.raises(UnreadableError, match="header"):
        text_of(b"Content-Type: text/plain" + b";" * 1_000_000 + b"\r\n\r\nHello")


@pytest.mark.parametrize("text", ["a \n" * 150_000, " \n" * 200_000], ids=range(2))
def test_a_long_flowed_text_is_unwrapped(text):
    # Joining each line to the ones before would copy about 20 GB.
    mail = message(text).as_bytes().replace(b"text/plain;", b"text/plain; format=flowed;")
    assert text_of(mail).count("\n") == 0


HOSTILE_HTML = [
    "<p>" + "".join(f"<b a={number}>" for number in range(20_000)) + "</p>" + "<p>x" * 20_000,
    "<div>" * 100_000,
    "<p> " * 100_000,
    "<a" * 200_000,
    '<a ="' * 100_000,
    "<a ='\"" * 100_000,
    "<a " + "=" * 400_000,
    "<!--" * 100_000,
    "<script>" * 50_000,
    "<" * 400_000,
    "</" * 200_000,
    "<blockquote>" * 40_000,
    "&" * 400_000,
    "&#x" * 150_000,
    " " * 400_000,
]


@pytest.mark.parametrize("content", HOSTILE_HTML, ids=range(len(HOSTILE_HTML)))
def test_hostile_html_gives_no_more_than_it_has(content):
    # A tree of the first takes gigabytes, and a search from each of the others' tags takes minutes.
    text, _ = text_of_html(content)
    assert len(text) <= len(content)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("First<div>second</div>", "First\nsecond\n"),
        ("<p>One<p>Two", "One\nTwo"),
        ("<div>a</div><div><br></div><div>b</div>", "a\n\n\nb\n"),
        ('<img alt="a > b">c', "c"),
        ("<img alt='>'>c", "c"),
        ("<p don't>c</p>", "c\n"),
        ("a<!-- > -->b", "ab"),
        ("a<![endif]>b", "ab"),
        ("1 < 2 & 3 > 2", "1 < 2 & 3 > 2"),
        ("<SCRIPT>x</p>y</Script>z", "z"),
        ("<head><title>t</title><style>p > a {}</style></head>b", "b"),
        ("a<blockquote>b<blockquote>c</blockquote>d</blockquote>e", "a\ne"),
        ("a</blockquote>b", "a\nb"),
        ("a<blockquote>b", "a\n"),
        ("a<b", "a"),
        ("&lt;b&gt;", "<b>"),
    ],
)
def test_html(content, text):
    assert text_of_html(content)[0] == text


def test_a_text_that_would_be_cut_is_refused_unless_the_rest_is_a_quote():
    rest = "<p>word</p>" * (MOST_HTML_BYTES // 10)
    with pytest.raises(UnreadableError, match="too long"):
        text_of(message(f"Yes{rest}", subtype="html"))
    assert text_of(message(f"Yes<blockquote>{rest}</blockquote>", subtype="html")) == "Yes"
    introduction = "<p>On 2026-11-29 at 10:00 Ingot wrote:</p>"
    assert text_of(message(f"Yes{introduction}{rest}", subtype="html")) == "Yes"


BLOCKS, INLINE = ("p", "div", "li", "h2", "blockquote", "pre"), ("b", "span", "a", "i")
DROPPED = ("script", "style", "blockquote")
WORDS = (
    "one",
    "zwei",
    "trois ",
    " vier",
    "&amp;",
    "&lt;b&gt;",
    "&#233;",
    "&eacute;t&eacute;",
    "1 > 0",
    "a & b",
    "\n",
)
ATTRIBUTES = ("", " class=x", ' title="a > b"', " title='<p>'", " hidden", ' href="x" id=y')


class Reader(HTMLParser):
    """The words of an HTML text, as the parser of the standard library sees it."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.pieces, self.dropped = [], 0

    def handle_starttag(self, tag, attrs):
        self.dropped += tag in DROPPED
        self._break(tag)

    def handle_endtag(self, tag):
        self.dropped -= tag in DROPPED
        self._break(tag)

    def handle_data(self, data):
        if not self.dropped:
            self.pieces.append(data)

    def _break(self, tag):
        if tag in BLOCKS or tag == "br":
            self.pieces.append("\n")


def write_html(choose, depth=3):
    """Return elements with text, comments and scripts between them."""
    parts = []
    for _ in range(choose.randint(1, 5)):
        kind = choose.randrange(6)
        if kind < 3 and depth:
            name = choose.choice(BLOCKS + INLINE)
            name = choose.choice((name, name.upper()))
            parts.append(f"<{name}{choose.choice(ATTRIBUTES)}>{write_html(choose, depth - 1)}</{name}>")
        elif kind == 3:
            parts.append(choose.choice(("<br>", "<br/>", "<!-- <p>no</p> -->", "<hr class=x>")))
        elif kind == 4:
            name = choose.choice(("script", "style"))
            parts.append(f'<{name}>if (a < b) no("<p>")</{name}>')
        else:
            parts.append(choose.choice(WORDS))
    return "".join(parts)


def test_words_of_html_are_those_of_the_standard_library():
    seed, words = datetime.now(UTC).date().isoformat(), 0
    choose = random.Random(seed)
    for number in range(2_000):
        content, reader = write_html(choose), Reader()
        reader.feed(content)
        reader.close()
        expected = "".join(reader.pieces).split()
        assert text_of_html(content)[0].split() == expected, (seed, number, content)
        words += len(expected)
    assert words > 2_000
