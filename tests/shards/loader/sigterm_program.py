"""Train until SIGTERM: print each step, and afterwards where the state was saved."""

import sys
import time
from pathlib import Path

from thresher import Loader

export, cache, saved = sys.argv[1:]
loader = Loader(export, length=32, batch_size=2, cache=cache)
loader.stop_on_sigterm(saved)
for batch in loader:
    sys.stdout.write(f"{int(batch['sequences'][-1])}\n")
    sys.stdout.flush()
    time.sleep(0.05)
sys.stdout.write(f"saved {Path(saved).exists()}\n")
