"""Detectors of drift: each takes a reference once, then a round at a time, and answers for every unit.

A detector is ``init`` and ``step``, two functions over a plain state.
"""
