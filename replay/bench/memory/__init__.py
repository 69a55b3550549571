"""Memory: what it takes to remember, to recall, and to write a prompt, beside other stores of memory items."""
