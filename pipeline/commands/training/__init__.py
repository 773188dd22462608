"""Commands that train models (`train_command`)."""
