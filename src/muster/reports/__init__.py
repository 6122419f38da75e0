"""How a run is shown: sections to text. No renderer computes."""
