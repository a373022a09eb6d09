"""Frames and a decision to HTML, Markdown and JSON."""
