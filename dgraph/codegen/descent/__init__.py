"""Kernel text for block descent. The engine that runs these kernels is `engines/block_descent.py`."""
