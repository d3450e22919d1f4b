"""Factors of ratings: what is learned from, the model, the kernels that improve it, and when to stop."""
