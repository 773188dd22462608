"""Train a small language model on the shards of an export, and continue it after a kill with another number of ranks.

    thresher export --out out --format tokens
    python examples/train.py out --checkpoint run.pt                           # one process
    torchrun --nproc-per-node 4 examples/train.py out --checkpoint run.pt      # continues with four

It needs PyTorch. Every 20 steps rank 0 saves the model, the optimizer and the loader's state in one file. The global
batch is the same for any number of ranks, so the loss of each step is, too, up to the order of additions.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from thresher import Loader, ThresherError

try:
    import torch
    import torch.distributed as dist
    from torch import nn
except ModuleNotFoundError as error:
    print(f"train.py needs PyTorch ({error}): pip install torch", file=sys.stderr)
    raise SystemExit(2) from None

WIDTH, HEADS, LAYERS, SAVE_EVERY = 64, 4, 2, 20


class Model(nn.Module):  # type: ignore[misc]
    """A transformer that sees no token of another document."""

    def __init__(self, vocabulary: int, length: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, WIDTH), nn.Embedding(length, WIDTH)
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.out = nn.Linear(WIDTH, vocabulary)

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the logits of each next token."""
        segments, length = batch["segments"], batch["segments"].shape[1]
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1) | (
            segments[:, :, None] != segments[:, None, :]
        )
        embedded = self.tokens(batch["input_ids"]) + self.places(batch["positions"])
        return self.out(self.layers(embedded, mask=hidden.repeat_interleave(HEADS, 0)))


def loss_of(model: Model, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the sum of the losses of all next tokens within a document, and their number."""
    segments = batch["segments"]
    counted = (segments[:, 1:] == segments[:, :-1]) & (segments[:, 1:] > 0)
    losses = nn.functional.cross_entropy(
        model(batch)[:, :-1].transpose(1, 2), batch["input_ids"][:, 1:], reduction="none"
    )
    return (losses * counted).sum(), counted.sum()


def summed(value: torch.Tensor) -> torch.Tensor:
    """Return the sum over all ranks."""
    if dist.is_initialized():
        dist.all_reduce(value)
    return value


def main() -> None:
    """Train until the last step, from the checkpoint if there is one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("export")
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--global-batch", type=int, default=12)
    arguments = parser.parse_args()
    rank, world_size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    try:
        loader = Loader(
            arguments.export,
            length=arguments.length,
            batch_size=arguments.global_batch // world_size,
            rank=rank,
            world_size=world_size,
            epochs=None,
        )
    except ThresherError as error:
        parser.error(str(error))
    if world_size > 1:
        dist.init_process_group("gloo")
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)  # so that the order of additions shows late
    manifest = json.loads((Path(arguments.export) / "manifest.json").read_text())
    model = Model(manifest["recipe"]["tokenizer"]["vocabulary"], arguments.length)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    step = 0
    if arguments.checkpoint.exists():
        saved = torch.load(arguments.checkpoint, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        loader.load_state_dict(saved["loader"])
        step = saved["step"]

    for arrays in loader:
        if step == arguments.steps:
            break
        batch = {name: torch.from_numpy(array) for name, array in arrays.items()}
        optimizer.zero_grad()
        loss, count = loss_of(model, batch)
        loss.backward()
        total = summed(count)
        for parameter in model.parameters():
            parameter.grad = summed(parameter.grad) / total
        optimizer.step()
        step += 1
        loss = summed(loss.detach()) / total
        if rank == 0:
            print(f"step {step} loss {loss.item():.9f}", flush=True)
            if step % SAVE_EVERY == 0:
                new = arguments.checkpoint.with_suffix(".new")
                torch.save(
                    {
                        "model": model.state_dict(),
                        "optimizer": optimizer.state_dict(),
                        "loader": loader.state_dict(),
                        "step": step,
                    },
                    new,
                )
                new.replace(arguments.checkpoint)
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    # A thread of gloo may free the last tensor late. If Python is shutting down by then, the thread aborts the process.
    os._exit(0)
