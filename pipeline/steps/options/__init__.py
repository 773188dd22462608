"""What users choose for a step, checked before the step begins."""
