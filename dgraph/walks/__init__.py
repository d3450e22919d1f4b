"""Random walks, and samples of the neighbourhoods of vertices. The kernels are in `solvers/`."""
