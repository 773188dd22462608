"""The command that gives documents values of the user's own (`annotate_command`)."""
