"""A federation on one machine: clients, drift, training, aggregation, what clients send."""
