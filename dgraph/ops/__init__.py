"""The operations that users call, one or two per file. Hand-written kernels for them are in `solvers/`."""
