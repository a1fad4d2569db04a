"""Calibration: ranks of true values among posterior draws, and stated errors beside the spread of estimates."""
