"""Frames and a policy to a Decision."""
