"""NVIDIA cuGraph as an engine (experimental): its calls, and teams of GPUs. It runs none of dgraph's own kernels."""
