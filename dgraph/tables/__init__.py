"""A partition's edges and vertices as arrays that kernels read. Running the kernels is up to `devices/`."""
