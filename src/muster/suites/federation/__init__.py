"""Federations over time: drift, detection, mitigation, recovery, fairness in every round."""
