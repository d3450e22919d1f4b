"""Kernel text for CUDA. Text that all targets share is one folder up."""
