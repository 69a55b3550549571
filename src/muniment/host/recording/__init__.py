"""How exchanges with models and runs of agents become turns, whatever happens to the store."""
