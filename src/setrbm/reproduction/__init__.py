"""Reproduction of the paper's Table 1: its figures, the systems, tables and the page."""
