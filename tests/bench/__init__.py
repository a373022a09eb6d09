"""Benchmarks: ratios against the naive way and the physical limit, measured in one run (``python -m tests.bench``)."""
