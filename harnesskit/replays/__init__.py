"""Replays: the contract of a replay function, its rule tools, time limits, records and scores."""
