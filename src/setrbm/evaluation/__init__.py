"""Evaluation: what results are made with and held against."""
