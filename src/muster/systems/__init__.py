"""What is evaluated, live: federations that train and drift, detectors that watch them."""
