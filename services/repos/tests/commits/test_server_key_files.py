"""Reading the key by which the server signs: what can be used, and what is refused with one line."""

import pytest

from ingot_chassis.settings import SettingsError

from ..signing_keys import openpgp_key, read_keys, ssh_key


def test_keys_with_a_passphrase_are_read_keys(tmp_path):
    file = ssh_key(tmp_path, passphrase="secret word")
    assert read_keys(file, "secret word").signer.sign(b"x").startswith(b"-----BEGIN SSH SIGNATURE-----")
    for passphrase in ("", "wrong"):
        with pytest.raises(SettingsError, match="is INGOT_REPOS_SIGNING_KEY_PASSPHRASE right"):
            read_keys(file, passphrase)


@pytest.mark.parametrize("kind_of_key", ["rsa", "ecdsa"])
def test_other_kinds_of_ssh_keys_sign(tmp_path, kind_of_key):
    assert read_keys(ssh_key(tmp_path, kind=kind_of_key)).signer.sign(b"x")


def unusable(folder):
    """Name -> a key file, what the message says."""
    public, loose = folder / "public", openpgp_key(folder, name="loose")
    public.write_text(read_keys(openpgp_key(folder)).current.text)
    public.chmod(0o600)
    loose.chmod(0o604)
    return {
        "nothing": ("/nothing/there", "cannot be read: No such file"),
        "a relative path": ("key", "by its absolute path"),
        "a folder": (folder, "cannot be read: Is a directory"),
        "a public key": (public, "holds neither an armored OpenPGP private key nor an OpenSSH one"),
        "a file for all": (loose, "chmod 600"),
        "a key of another address": (
            openpgp_key(folder, "X <x@example.org>", name="x"),
            "does not name the address",
        ),
    }


@pytest.mark.parametrize("name", [
    "nothing", "a relative path", "a folder", "a public key", "a file for all", "a key of another address",
])  # fmt: skip
def test_a_key_that_cannot_be_used_is_one_line_at_the_start(tmp_path, name):
    file, said = unusable(tmp_path)[name]
    with pytest.raises(SettingsError) as caught:
        read_keys(file)
    assert said in str(caught.value)
    assert "INGOT_REPOS_SIGNING_KEY" in str(caught.value)
    assert "\n" not in str(caught.value).removeprefix("settings:").strip()


def test_damaged_keys_are_refused(tmp_path):
    for file in (openpgp_key(tmp_path), ssh_key(tmp_path)):
        text = file.read_bytes()
        file.write_bytes(text[: len(text) // 2])
        with pytest.raises(SettingsError, match=r"INGOT_REPOS_SIGNING_KEY: the .* key cannot be read"):
            read_keys(file)
    with pytest.raises(SettingsError, match="SIGNING_EMAIL"):
        read_keys(file, email="")
    (tmp_path / "text").write_text("no key")
    with pytest.raises(SettingsError, match="FORMER_SIGNING_KEYS"):
        read_keys("", former=[str(tmp_path / "text")])


def test_without_ssh_keygen_an_ssh_key_is_refused(tmp_path, monkeypatch):
    file = ssh_key(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SettingsError, match="ssh-keygen is not installed"):
        read_keys(file)
