"""An open store and the open spaces in it: keys, healing, refused attempts, the embedder."""
