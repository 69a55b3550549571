"""The noun group `evidence`: checkpoints, proofs, verification, audit, inspection, disclosures."""
