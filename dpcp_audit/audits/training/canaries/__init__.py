"""Canary audits of trainings: games, bets over many runs, and the check that judges both.

Nothing here imports PyTorch before a game is played.
"""
