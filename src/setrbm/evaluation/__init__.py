"""Evaluation: splits of sets, scores of predictions, significance tests."""
