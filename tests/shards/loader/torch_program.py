"""Run in an environment with PyTorch: print the token ids that a DataLoader gives, as JSON.

usage: torch_program.py PLAN.json. The plan: `options` of the loader, `workers`, `take` (batches, or null for all), and
perhaps `state` to begin with, and `stateful`: whether the StatefulDataLoader keeps the state.
"""

import json
import sys

import torch
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader  # type: ignore[import-not-found]

from thresher import Loader


def main(plan):
    loader = Loader(plan["export"], **plan["options"])
    make = StatefulDataLoader if plan.get("stateful") else DataLoader
    if plan.get("state") and not plan.get("stateful"):
        loader.load_state_dict(plan["state"])
    batches = make(loader.torch(), batch_size=None, num_workers=plan["workers"])
    if plan.get("state") and plan.get("stateful"):
        batches.load_state_dict(plan["state"])
    rows, state = [], None
    for number, batch in enumerate(batches, 1):
        assert batch["input_ids"].dtype == torch.int64
        rows += batch["input_ids"].tolist()
        if number == plan["take"]:
            state = batches.state_dict() if plan.get("stateful") else loader.state_dict(after=batch)
            break
    return {"rows": rows, "state": state}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
