"""Speed against a peer in the same run: ``python -m benchmarks``, or ``make bench``."""
