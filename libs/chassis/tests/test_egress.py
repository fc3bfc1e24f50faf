"""Rules for connections on behalf of users, and encryption of secrets at rest."""

import pytest
from cryptography.fernet import Fernet

from ingot_chassis.security.egress import Egress, resolve_host
from ingot_chassis.security.sealing import Seal, Unreadable
from ingot_chassis.settings import SettingsError

REFUSED = [
    "127.0.0.1", "127.8.9.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254",
    "100.64.0.1",
    "100.100.100.200", "224.0.0.1", "255.255.255.255", "240.0.0.1", "192.0.2.1", "198.18.0.1", "192.0.0.192",
    "168.63.129.16", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "fec0::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b:1::1",
    "2002:7f00:1::", "2001:0:7f00:1::", "2001:db8::1", "::7f00:1", "100::1",
]  # fmt: skip


@pytest.mark.parametrize("address", REFUSED)
def test_nothing_is_sent_to_an_address_that_is_not_public(address):
    refusal = Egress([], "TARGETS").refusal("ci.example.org", 443, [address])
    assert "ci.example.org" in refusal
    assert "TARGETS" in refusal
    assert address not in refusal


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_public_addresses_need_no_permission(address):
    assert Egress([], "TARGETS").refusal("ci.example.org", 443, [address]) == ""


def test_one_bad_address_among_good_ones_is_enough():
    assert Egress([], "TARGETS").refusal("ci.example.org", 443, ["8.8.8.8", "10.0.0.1"])


@pytest.mark.parametrize(
    ("allowed", "host", "address", "passes"),
    [
        (["10.0.0.0/8"], "ci", "10.1.2.3", True),
        (["10.0.0.0/8"], "ci", "::ffff:10.1.2.3", True),
        (["10.0.0.0/8"], "ci", "192.168.0.1", False),
        (["10.1.2.3"], "ci", "10.1.2.3", True),
        (["fd00::/8"], "ci", "fd12::1", True),
        (["CI.local"], "ci.LOCAL.", "10.1.2.3", True),
        (["ci.local"], "ci.local.evil.org", "10.1.2.3", False),
        (["*.svc.cluster.local"], "jenkins.ci.svc.cluster.local", "10.1.2.3", True),
        (["*.svc.cluster.local"], "evilsvc.cluster.local", "10.1.2.3", False),
        (["10.1.2.3:8080"], "ci", "10.1.2.3", True),
        (["10.1.2.3:8081"], "ci", "10.1.2.3", False),
        (["10.0.0.0/8:8080"], "ci", "10.1.2.3", True),
        (["10.0.0.0/8:8081", "10.1.2.3:8080"], "ci", "10.1.2.3", True),
        (["[fd12::1]:8080"], "ci", "fd12::1", True),
        (["[fd12::1]:8081"], "ci", "fd12::1", False),
        (["ci.local:8080"], "ci.local", "10.1.2.3", True),
        (["ci.local:8081"], "ci.local", "10.1.2.3", False),
        (["*.ci.local:8080"], "a.ci.local", "10.1.2.3", True),
        (["*.ci.local:8081"], "a.ci.local", "10.1.2.3", False),
    ],
)
def test_the_operator_allows_networks_hosts_and_domains(allowed, host, address, passes):
    assert (Egress(allowed, "TARGETS").refusal(host, 8080, [address]) == "") is passes


@pytest.mark.parametrize(
    "entry", ["10.0.0.0/99", "http://ci", "", "ci:http", "ci:0", "ci:65536", "[::1", ":80", "a b"]
)
def test_an_entry_that_cannot_be_read_stops_the_start(entry):
    with pytest.raises(SettingsError, match="TARGETS"):
        Egress([entry], "TARGETS")


def test_a_bad_sealing_key_stops_the_start():
    with pytest.raises(SettingsError, match="SEALING_KEY"):
        Seal("short", "SEALING_KEY")


@pytest.mark.parametrize(
    ("allowed", "host", "address", "port", "passes"),
    [
        ([], "ci", "8.8.8.8", 80, True),
        ([], "ci", "8.8.8.8", 443, True),
        ([], "ci", "8.8.8.8", 8080, False),
        ([], "ci", "8.8.8.8", 25, False),
        (["ci"], "ci", "8.8.8.8", 8080, True),
        (["8.8.8.8"], "ci", "8.8.8.8", 8080, True),
        (["127.0.0.0/8"], "localhost", "127.0.0.1", 3001, True),
        (["127.0.0.0/8"], "ci", "8.8.8.8", 3001, False),
    ],
)
def test_other_ports_than_those_of_the_web_are_for_what_the_operator_names(
    allowed, host, address, port, passes
):
    refusal = Egress(allowed, "TARGETS").refusal(host, port, [address])
    assert (refusal == "") is passes
    assert passes or "TARGETS" in refusal


def test_a_service_may_have_other_public_ports():
    egress = Egress([], "TARGETS", ports=(22,))
    assert egress.refusal("git.example.org", 22, ["8.8.8.8"]) == ""
    assert "none of 22" in egress.refusal("git.example.org", 80, ["8.8.8.8"])


@pytest.mark.parametrize(
    ("host", "address"), [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("127.1", "127.0.0.1")]
)
async def test_every_spelling_of_an_address_comes_out_plain(host, address):
    assert {answer["host"] for answer in await resolve_host(host, 80)} == {address}


def test_a_sealed_secret_is_opened_by_its_own_key_alone():
    seal, other = (Seal(Fernet.generate_key().decode(), "SEALING_KEY") for _ in range(2))
    sealed = seal.close("wolf")
    assert sealed is not None
    assert b"wolf" not in sealed
    assert (seal.open(sealed), seal.close(""), seal.open(None)) == ("wolf", None, "")
    with pytest.raises(Unreadable, match="SEALING_KEY"):
        other.open(sealed)
