"""Nouns: records, table contracts, metrics, policies, decisions, errors."""
