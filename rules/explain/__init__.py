"""The steps and the headline of a diagnosis."""
