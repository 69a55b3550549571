"""Which message answers a question best: pure arithmetic over columns, without a store, a key or a clock."""
