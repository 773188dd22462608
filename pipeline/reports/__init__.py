"""Results of a project: `report`, `status`, `history` of a URL, `metrics`, and an archive to show (`wacz_export`)."""
