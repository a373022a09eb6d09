"""Capture from life: the gate on every turn, notices in the mailbox, and cases from them."""
