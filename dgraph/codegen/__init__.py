"""Generates a program's kernels as readable text, and caches the compiled ones. Hand-written kernels are in `solvers/`.

`program_kernels.py` says what each kernel does. Text for CUDA is in `cuda/`, and for block descent in `descent/`.
"""
