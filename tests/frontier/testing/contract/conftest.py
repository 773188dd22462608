"""The contract of a frontier is tested with the three of them: in memory, on a server, and on four partitions."""

from tests.frontier import contract

budget, crawl, policy, worker = contract.budget, contract.crawl, contract.policy, contract.worker
