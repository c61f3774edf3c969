"""One folder, and one worker under Node, for all tests here."""

import pytest

from tests.support.playground.site import started_host, write_site


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    return write_site(tmp_path_factory.mktemp("playground") / "site")


@pytest.fixture(scope="module")
def host(site):
    with started_host(site) as host:
        yield host


@pytest.fixture
def clean(host):
    """The worker, without files."""
    host.ask("clear")
    return host
