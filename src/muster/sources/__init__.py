"""Where data comes from: places, arrays and frames, to observations."""
