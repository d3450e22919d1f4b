"""A run, from the user's call to the result: options, plan, execution, report. Lower layers run rounds and kernels."""
