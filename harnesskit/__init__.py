"""harnesskit."""
