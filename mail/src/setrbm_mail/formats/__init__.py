"""Formats of files: one file each, and ``table``, which tells them apart by their first bytes."""
