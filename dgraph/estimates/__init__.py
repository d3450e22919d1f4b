"""Estimates made before a run, from samples: memory, time, speed of workers. Nothing here runs on a whole graph."""
