"""From documents to sets of page vectors: words, and blocks of numbers that can be asked for."""
