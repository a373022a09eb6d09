"""Tests of this package; a package of their own so that equal file names do not meet."""
