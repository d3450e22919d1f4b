"""Factors of ratings: what is learned from, the kernels that improve them, when to stop, and predictions."""
