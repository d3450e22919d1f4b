"""The operations that users call, one per file. Hand-written kernels for them are in `solvers/`."""
