"""From records to a verdict: which trials count, what they measured, what that says."""
