"""What a project has come to: `report`, `status`, `history` of a URL, `metrics`, and an archive to show (`wacz_export`)."""
