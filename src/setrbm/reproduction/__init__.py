"""Reproduction of the paper's two tables: its figures, the systems, tables and pages."""
