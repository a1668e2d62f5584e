"""What the source papers claim, as data, and the computations behind it."""
