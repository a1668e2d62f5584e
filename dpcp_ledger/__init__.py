"""The claims of the source papers, as data, and the computations behind them."""
