"""Connections to a real SMTP server: TLS, STARTTLS, sign-in by password and by token, limits."""

import ssl
from contextlib import asynccontextmanager
from datetime import timedelta

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ingot_chassis.clock import now
from ingot_mail.access_tokens.clients import AccessTokens, TokenEndpoint
from ingot_mail.settings import Settings
from ingot_mail.smtp.clients import OutgoingMail, SmtpError, SmtpPool

from ..smtp_servers import Mailbox, serve
from ..token_endpoints import serve_tokens

MAIL = OutgoingMail("noreply@forge.test", "bob@example.org", b"Subject: a\r\n\r\nb\r\n")


@pytest.fixture
def authority(tmp_path):
    """A self-signed certificate for localhost: the file of it, and the context of a server with it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now() - timedelta(days=1))
        .not_valid_after(now() + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + private)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file)
    return str(file), context


def settings_for(port, **fields):
    values = {"smtp_host": "localhost", "smtp_port": port, "smtp_security": "none", "smtp_seconds": 10}
    return msgspec.structs.replace(Settings(), **values | fields)


async def allow():
    return True


@asynccontextmanager
async def pool_of(settings):
    endpoint = TokenEndpoint(
        settings.smtp_oauth_url, settings.smtp_oauth_client, settings.smtp_oauth_secret, "mail"
    )
    pool = SmtpPool(settings, AccessTokens(endpoint, seconds=settings.smtp_seconds))
    yield pool
    await pool.close()


@pytest.mark.parametrize("security", ["tls", "starttls"])
async def test_a_connection_is_encrypted(authority, security):
    file, context = authority
    mailbox = Mailbox()
    async with serve(mailbox, **{security: context}) as port:
        settings = settings_for(port, smtp_security=security, smtp_ca_file=file)
        async with pool_of(settings) as pool:
            assert await pool.send(MAIL, allow)
    assert len(mailbox.taken) == 1


@pytest.mark.parametrize("security", ["tls", "starttls"])
async def test_a_server_without_a_trusted_certificate_gets_nothing(authority, security):
    mailbox = Mailbox()
    async with (
        serve(mailbox, **{security: authority[1]}) as port,
        pool_of(settings_for(port, smtp_security=security)) as pool,
    ):
        with pytest.raises(SmtpError, match="no connection"):
            await pool.send(MAIL, allow)
    assert mailbox.taken == []


async def test_a_server_without_starttls_gets_nothing():
    mailbox = Mailbox()
    async with serve(mailbox) as port, pool_of(settings_for(port, smtp_security="starttls")) as pool:
        with pytest.raises(SmtpError, match="no connection"):
            await pool.send(MAIL, allow)
    assert mailbox.taken == []


@pytest.mark.parametrize(("password", "is_right"), [("right", True), ("wrong", False)])
async def test_the_sign_in_by_password(password, is_right):
    mailbox = Mailbox()
    mailbox.users["forge"] = "right"
    async with (
        serve(mailbox) as port,
        pool_of(settings_for(port, smtp_user="forge", smtp_password=password)) as pool,
    ):
        if is_right:
            assert await pool.send(MAIL, allow)
        else:
            with pytest.raises(SmtpError, match="no connection") as raised:
                await pool.send(MAIL, allow)
            assert password not in raised.value.reason
    assert mailbox.signed_in == ["forge"] * is_right


@pytest.fixture
async def tokens():
    async with serve_tokens() as tokens:
        yield tokens


async def test_the_sign_in_by_a_token_of_oauth2(tokens):
    mailbox = Mailbox()
    mailbox.users["forge"] = "token-1"
    async with serve(mailbox) as port:
        settings = settings_for(
            port,
            smtp_user="forge",
            smtp_oauth_url=tokens.url,
            smtp_oauth_client="client",
            smtp_oauth_secret="secret",
        )
        async with pool_of(settings) as pool:
            assert await pool.send(MAIL, allow)
    assert mailbox.signed_in == ["forge"]
    (form,) = tokens.forms
    assert (form["grant_type"], form["scope"]) == ("client_credentials", "mail")


async def test_a_connection_is_used_again_and_closed_after_its_mails(mailbox):
    async with pool_of(settings_for(mailbox.port, smtp_mails_per_connection=2)) as pool:
        for _ in range(5):
            assert await pool.send(MAIL, allow)
    assert len(mailbox.taken) == 5


async def test_content_that_is_not_allowed_is_not_sent(mailbox):
    async def deny():
        return False

    async with pool_of(settings_for(mailbox.port)) as pool:
        assert not await pool.send(MAIL, deny)
        assert await pool.send(MAIL, allow)
    assert len(mailbox.taken) == 1


async def test_a_server_that_is_down_is_tried_later():
    async with pool_of(settings_for(1)) as pool:
        with pytest.raises(SmtpError) as raised:
            await pool.send(MAIL, allow)
    assert raised.value.retried


class _Scanner(Mailbox):
    """A server that refuses mails for the links in them, and quotes these."""

    async def handle_DATA(self, server, session, envelope):  # noqa: N802 - named by aiosmtpd
        _, _, body = envelope.content.decode().partition("\r\n\r\n")
        return f"554 5.7.1 blocked: {' '.join(body.split())} is not allowed"


@pytest.mark.parametrize("link", ["https://forge.test/user/reset_password?code={}", "/user/x?a=b&code={}"])
async def test_an_error_that_quotes_a_link_does_not_tell_its_secret(link):
    """Administrators read it, and others who get the history."""
    mail = MAIL._replace(content=b"Subject: a\r\n\r\n" + link.format("the-secret").encode() + b"\r\n")
    async with serve(_Scanner()) as port, pool_of(settings_for(port)) as pool:
        with pytest.raises(SmtpError) as error:
            await pool.send(mail, allow)
    assert "the-secret" not in error.value.reason
    assert error.value.reason.startswith("the mail was refused: 554 5.7.1 blocked:")
    assert error.value.reason.endswith("is not allowed")
