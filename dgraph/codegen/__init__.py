"""Kernels of a program as readable text, and the cache of compiled ones. `kernels.py` says what each kernel does."""
