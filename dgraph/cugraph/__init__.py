"""NVIDIA cuGraph as an engine (experimental): its calls, and teams of GPUs. None of dgraph's own kernels run here."""
