"""The laboratory: the paper's tables, our defaults, and what was tried; never installed."""
