"""What is said of a number: ok, watch, breach, or not enough evidence."""
