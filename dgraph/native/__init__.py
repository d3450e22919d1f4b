"""Support for compiled code: cached machine code, threads, cores, interruptible calls. Independent of graphs."""
