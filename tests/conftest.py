"""Configuration of pytest for this folder."""

# Run in a process of its own: it loads Triton as for a GPU, and test_gpu.py needs the interpreter.
collect_ignore = ["compile_kernels.py"]
