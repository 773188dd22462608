"""How Thresher got onto this machine: `extras` names the command that adds packages to it."""
