"""Kernels of a program as readable text, and the cache of compiled ones. Hand-written kernels are in `solvers/`.

`program_kernels.py` says what each kernel does. Text for CUDA is in `cuda/`, and for block descent in `descent/`.
"""
