"""Reading of files in child processes with limits of time and memory, one page at a time."""
