"""URLs of SSH, as git reads them."""

import pytest

pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)


@pytest.fixture
def settings(request):
    host, port = request.param
    return {"ssh_host": host, "ssh_port": port}


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        (("192.0.2.1", 2222), "ssh://git@192.0.2.1:2222/ann/app.git"),
        (("::1", 2222), "ssh://git@[::1]:2222/ann/app.git"),
        (("::1", 22), "git@[::1]:ann/app.git"),
        (("[::1]", 2222), "ssh://git@[::1]:2222/ann/app.git"),
    ],
    indirect=["settings"],
)
async def test_addresses_of_ipv6_are_in_brackets(ann, url):
    assert (await ann.create("app"))["ssh_url"] == url
