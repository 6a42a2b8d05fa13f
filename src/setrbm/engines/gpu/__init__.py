"""The GPU engine, on torch and triton (extra ``gpu``): many small models side by side, or one large one.

The reasons are in ``docs/decisions/0004-many-models-on-a-gpu.md``. Importing this package loads no torch.
"""
