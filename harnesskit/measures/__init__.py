"""Frames to frames, each a documented table."""
