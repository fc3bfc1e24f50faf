"""Keys for the server to sign with, in files."""

import subprocess

from pysequoia import Tsk

from ingot_repos.commits.rules.server_keys import read_server_keys

NAME, ADDRESS = "Ingot", "ingot@git.example.org"


def ssh_key(folder, *, passphrase="", kind="ed25519", name="ssh"):
    file = folder / name
    command = ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "x", "-f", str(file)]
    subprocess.run(command, check=True)
    return file


def openpgp_key(folder, user_id=f"{NAME} <{ADDRESS}>", *, name="openpgp", **options):
    file = folder / name
    file.write_bytes(str(Tsk.generate(user_id, **options)).encode())
    file.chmod(0o600)
    return file


def key_file(kind, folder):
    return openpgp_key(folder) if kind == "gpg" else ssh_key(folder)


def signing(file):
    return {"signing_key": str(file), "signing_email": ADDRESS}


def read_keys(file, passphrase="", name=NAME, email=ADDRESS, former=()):
    return read_server_keys(str(file), passphrase=passphrase, name=name, email=email, former=former)
