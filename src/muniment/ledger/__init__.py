"""Events become sealed rows and rows become events again; attestation, stream heads, transfer of whole logs."""
