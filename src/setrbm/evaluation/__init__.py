"""Evaluation: splits, scores, runs that can be resumed, results, statistics, plots, other methods to compare with."""
