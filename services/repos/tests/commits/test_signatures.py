"""Signatures of commits and tags: whose they are, and which are called verified."""

import base64
import hashlib
import zlib

import asyncssh
import pytest
from pygit2.enums import ObjectType
from pysequoia import ArmorKind, Sig, SignatureMode, Tsk, armor, sign

from ingot_contracts.identity.credentials import SignatureKey
from ingot_git.history.signatures import CommitSignature
from ingot_git.testing.builders import set_branches
from ingot_repos.commits.rules.signatures import Signed

from ..code_world import opened

# Nothing here depends on the kind of database.
pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
WHO = "Ann <Ann@example.org> 1600000000 +0000"
SHAS = {b"sha256": hashlib.sha256, b"sha512": hashlib.sha512}


def strings(*parts):
    return b"".join(len(part).to_bytes(4) + part for part in parts)


class SshKey:
    def __init__(self, algorithm="ssh-ed25519"):
        self._key = asyncssh.generate_private_key(algorithm)
        self.id, self.certificate = self._key.get_fingerprint(), b""

    def sign(self, payload, *, namespace=b"git", digest=b"sha512", form=b"ssh-ed25519"):
        signed = b"SSHSIG" + strings(namespace, b"", digest, SHAS[digest](payload).digest())
        parts = (self._key.public_data, namespace, b"", digest, self._key.sign(signed, form))
        text = base64.encodebytes(b"SSHSIG\0\0\0\1" + strings(*parts)).decode()
        return f"-----BEGIN SSH SIGNATURE-----\n{text}-----END SSH SIGNATURE-----\n"


class PgpKey:
    def __init__(self):
        self._key = Tsk.generate("Ann <ann@example.org>")
        self.certificate = bytes(self._key.extract_certificate())
        issuer = Sig.from_bytes(self.sign(b"").encode()).issuer_fingerprint
        self.id = issuer[-16:].upper()

    def sign(self, payload):
        return sign(self._key.signer(), payload, mode=SignatureMode.DETACHED).decode()


def register(world, key, *addresses):
    owner = world.identity.accounts[1]
    world.identity.signature_keys[key.id] = SignatureKey(
        id=key.id, owner=owner, addresses=list(addresses or ("ann@example.org",)), certificate=key.certificate
    )


def commit(repo, message, sign_, parent=""):
    """The id of a commit whose text ``sign_`` signs."""
    parents = f"parent {parent}\n" if parent else ""
    tree = str(repo.TreeBuilder().write())
    text = f"tree {tree}\n{parents}author {WHO}\ncommitter {WHO}\n\n{message}\n"
    return str(repo.create_commit_with_signature(text, sign_(text.encode())))


async def test_a_signature_is_verified_by_a_key_of_who_has_the_address(world, ann):
    created = await ann.create("app", default_branch="master", auto_init=True)
    repo = opened(world, created["id"])
    pgp, ssh, rsa = PgpKey(), SshKey(), SshKey("ssh-rsa")
    other, stranger, foreign = SshKey(), SshKey(), PgpKey()
    for key in (pgp, ssh, rsa):
        register(world, key)
    for key in (other, foreign):
        register(world, key, "bob@example.org")
    signers = {
        "pgp": pgp.sign,
        "ssh": ssh.sign,
        "rsa": lambda text: rsa.sign(text, form=b"rsa-sha2-512", digest=b"sha256"),
        "rsa with sha-1": lambda text: rsa.sign(text, form=b"ssh-rsa"),
        "pgp of another text": lambda text: pgp.sign(text + b"x"),
        "ssh of another text": lambda text: ssh.sign(text + b"x"),
        "ssh for files": lambda text: ssh.sign(text, namespace=b"file"),
        "of who has another address": other.sign,
        "pgp of who has another address": foreign.sign,
        "of another text by who has another address": lambda text: other.sign(text + b"x"),
        "of nobody": stranger.sign,
        "pgp that is cut short": lambda text: pgp.sign(text)[:120],
        "ssh that is cut short": lambda _text: "-----BEGIN SSH SIGNATURE-----\nx\n",
    }
    tip = ""
    for name, sign_ in signers.items():
        tip = commit(repo, name, sign_, tip)
    set_branches(repo, signed=tip)

    world.identity.paths.clear()
    answer = await ann.get("/repos/ann/app/commits?sha=signed&stat=false&files=false")
    assert world.identity.paths.count("/internal/signature-keys") == 1
    shown = {one["commit"]["message"].strip(): one["commit"]["verification"] for one in answer.json()}
    assert {name: one["reason"].removeprefix("gpg.error.") for name, one in shown.items()} == {
        "pgp": f"ann / {pgp.id}",
        "ssh": f"ann / {ssh.id}",
        "rsa": f"ann / {rsa.id}",
        "rsa with sha-1": "probable_bad_signature",
        "pgp of another text": "probable_bad_signature",
        "ssh of another text": "probable_bad_signature",
        "ssh for files": "extract_sign",
        "of who has another address": "no_gpg_keys_found",
        "pgp of who has another address": "no_gpg_keys_found",
        (
            "of another text by who has another address"
        ): "probable_bad_signature",  # the owner of the address stays secret
        "of nobody": "no_gpg_keys_found",
        "pgp that is cut short": "extract_sign",
        "ssh that is cut short": "extract_sign",
    }
    assert [name for name, one in shown.items() if one["verified"]] == ["rsa", "ssh", "pgp"]
    signer = {"name": "Ann", "email": "Ann@example.org", "username": "ann"}
    assert (shown["pgp"]["signer"], shown["of nobody"]["signer"]) == (signer, None)
    assert shown["ssh"]["signature"].startswith("-----BEGIN SSH")
    assert shown["ssh"]["payload"].startswith("tree ")

    # The internal route of issues returns them for the commits of a pull request.
    history = f"{created['id']}/commits?base=&head={tip}&limit=100"
    for query, verifications in (("&verification=true", shown), ("", dict.fromkeys(shown))):
        commits = (await ann.internal("GET", history + query)).json()["commits"]
        assert {one["message"].strip(): one["verification"] for one in commits} == verifications

    # A deleted key verifies nothing. Without identity, no commit is verified.
    set_branches(repo, one=commit(repo, "x", pgp.sign))
    branch = "/repos/ann/app/branches/one"
    assert (await ann.get(branch)).json()["commit"]["verification"]["verified"] is True
    del world.identity.signature_keys[pgp.id]
    assert (await ann.get(branch)).json()["commit"]["verification"]["verified"] is False
    world.identity.unavailable = True
    reason = (await ann.get(branch)).json()["commit"]["verification"]["reason"]
    assert reason == "gpg.error.failed_retrieval_gpg_keys"
    world.identity.paths.clear()
    await ann.get("/repos/ann/app/commits")
    assert world.identity.paths == []


def packed(data):
    """A packet of compressed packets."""
    body = b"\2" + zlib.compress(data, 9)
    return b"\xc8\xff" + len(body).to_bytes(4) + body


async def test_what_is_compressed_in_a_signature_is_not_unpacked(world):
    bomb = packed(b"\xcd\6a@x.io" * 1_000_000)
    prefixes = (b"", b"\xc2", b"\xc2\2\4\0", b"\xc2\xc0\0", b"\xc2\xff\0\0\0\2\4\0", b"\x88\2\4\0")
    signed = {
        str(number): Signed(
            CommitSignature(armor(prefix + bomb, ArmorKind.Signature).encode(), b""), "a@x.io"
        )
        for number, prefix in enumerate(prefixes)
    }
    shown = await world.components.signatures.verify(1, signed)
    assert {one.reason for one in shown.values()} == {"gpg.error.extract_sign"}


async def test_a_signed_tag_is_verified(world, ann):
    created = await ann.create("app", default_branch="master", auto_init=True)
    repo, key = opened(world, created["id"]), SshKey()
    register(world, key)
    tip = repo.head.target
    for name, suffix, verified in (("good", b"", True), ("bad", b"x", False)):
        text = f"object {tip}\ntype commit\ntag {name}\ntagger {WHO}\n\nfirst\n-----BEGIN SSH\n".encode()
        tag = str(repo.odb.write(ObjectType.TAG, text + key.sign(text + suffix).encode()))
        repo.references.create(f"refs/tags/{name}", tag)
        shown = (await ann.get(f"/repos/ann/app/git/tags/{tag}")).json()
        assert (shown["message"], shown["verification"]["verified"]) == ("first\n-----BEGIN SSH\n", verified)
        assert shown["verification"]["payload"] == text.decode()


MODELS = ("default", "committer", "collaborator", "collaboratorcommitter")


@pytest.mark.parametrize("model", MODELS)
async def test_a_repository_trusts_the_signatures_of_its_model(world, ann, bob, model):
    """bob has the address of the committer confirmed, and no other way to the repository at first."""
    answer = await ann.post("/user/repos", {"name": "app", "auto_init": True, "trust_model": model})
    assert answer.status_code == 201, answer.text
    key, of_ann = SshKey(), SshKey()
    for one, owner in ((key, 2), (of_ann, 1)):
        world.identity.signature_keys[one.id] = SignatureKey(
            id=one.id, owner=world.identity.accounts[owner], addresses=["ann@example.org"]
        )
    repo = opened(world, answer.json()["id"])
    set_branches(repo, one=commit(repo, "x", key.sign), two=commit(repo, "y", of_ann.sign))

    async def verification(branch="one"):
        shown = (await ann.get(f"/repos/ann/app/branches/{branch}")).json()["commit"]["verification"]
        return shown["verified"], shown["reason"], (shown["signer"] or {}).get("username")

    trusted = (True, f"bob / {key.id}", "bob")
    untrusted = (False, "gpg.error.signed_by_untrusted_user", "bob")
    is_for_all = model in ("default", "committer")
    assert await verification("two") == (True, f"ann / {of_ann.id}", "ann")
    assert await verification() == (trusted if is_for_all else untrusted)
    assert (
        await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "read"})
    ).is_success
    assert await verification() == trusted
    assert (await ann.call("DELETE", "/api/v1/repos/ann/app/collaborators/bob")).is_success
    assert await verification() == (trusted if is_for_all else untrusted)
    # An address that is not confirmed is enough in no model.
    world.identity.signature_keys[key.id] = SignatureKey(
        id=key.id, owner=world.identity.accounts[2], addresses=[]
    )
    assert await verification() == (False, "gpg.error.no_gpg_keys_found", None)


async def test_members_of_teams_are_trusted(world, ann):
    world.organization(9, "acme")
    world.identity.join(1, 9, owner=True)
    body = {"name": "app", "auto_init": True, "trust_model": "collaborator"}
    answer = await ann.post("/orgs/acme/repos", body)
    assert answer.status_code == 201, answer.text
    repo, key = opened(world, answer.json()["id"]), SshKey()
    register(world, key)
    set_branches(repo, one=commit(repo, "x", key.sign))
    shown = (await ann.get("/repos/acme/app/branches/one")).json()["commit"]["verification"]
    assert (shown["verified"], shown["signer"]["username"]) == (True, "ann")


async def test_the_trust_model_can_be_changed_and_other_words_are_refused(world, ann, bob):
    assert (await ann.post("/user/repos", {"name": "no", "trust_model": "all"})).status_code == 422
    created = await ann.create("app", auto_init=True)
    repo, key = opened(world, created["id"]), SshKey()
    world.identity.signature_keys[key.id] = SignatureKey(
        id=key.id, owner=world.identity.accounts[2], addresses=["ann@example.org"]
    )
    set_branches(repo, one=commit(repo, "x", key.sign))
    for model, verified in (("collaborator", False), ("committer", True)):
        edited = await ann.call("PATCH", "/api/v1/repos/ann/app", {"trust_model": model})
        assert edited.status_code == 200, edited.text
        shown = (await ann.get("/repos/ann/app/branches/one")).json()["commit"]["verification"]
        assert shown["verified"] is verified
