"""Results of a project: `report`, `status`, `history` of a URL, and `metrics`."""
