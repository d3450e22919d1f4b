"""Devices that run kernels: the CPU and (experimental) CUDA. The daemons that feed them blocks are in `agents/`."""
