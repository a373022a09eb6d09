"""The runners that decide what to replay next, and what follows from it."""
