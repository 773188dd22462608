"""The contract of a frontier is tested with the three of them: in memory, on a server, and on four partitions."""

import pytest

from tests.frontier import contract
from thresher.frontier.link.embedded import embedded_server

budget, crawl, policy, worker = contract.budget, contract.crawl, contract.policy, contract.worker


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    """One server for all modules: each test has a crawl of its own."""
    with embedded_server(tmp_path_factory.mktemp("frontier")) as found:
        yield found
