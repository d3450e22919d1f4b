"""Methods by which a partition reaches a local fixed point, each by a special algorithm. Engines are one folder up.

Each file contains one method: its description for programs, its state, its kernels, and its bulk-asynchronous rounds if
they differ.
"""
