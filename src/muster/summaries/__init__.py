"""Over a population and over time: add, group, compare, estimate."""
