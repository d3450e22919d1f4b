"""A run, from the user's call to the result: options, plan, execution, report. Rounds and kernels are made below."""
