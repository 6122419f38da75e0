"""Arithmetic: arrays in, arrays out. No frames, files, clocks or global state."""
