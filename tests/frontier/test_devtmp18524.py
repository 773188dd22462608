import os
from hypothesis import settings, HealthCheck, Phase
from hypothesis.stateful import run_state_machine_as_test
import pytest; pytest.register_assert_rewrite("tests.frontier.test_model")
from tests.frontier.test_model import Machine
def test_dev(address):
    parts, examples, steps, shrink = (int(x) for x in os.environ["DEV"].split())
    m = type("Examined", (Machine,), {"address": address, "partitions": parts})
    run_state_machine_as_test(m, settings=settings(max_examples=examples, stateful_step_count=steps, deadline=None, database=None, suppress_health_check=list(HealthCheck), phases=(Phase.generate,)+((Phase.shrink,) if shrink else ())))
