"""Studies whose figures stand in docs/results, each made by one command."""
