"""Workers on a Ray cluster. Ray schedules actors, reports their deaths and carries calls."""
