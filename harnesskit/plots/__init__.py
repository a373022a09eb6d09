"""Frames to matplotlib Axes; computes nothing."""
