"""Evaluation: splits, runs that can be resumed, results, statistics, plots, and other methods to compare with."""
