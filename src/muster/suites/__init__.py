"""What is evaluated for a purpose: which measures, bands and sections."""
