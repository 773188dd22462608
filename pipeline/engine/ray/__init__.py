"""The same on a Ray cluster. Ray schedules, restarts and carries calls; nothing of that is ours."""
