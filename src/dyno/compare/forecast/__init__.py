"""What a run will cost and what it can find, told before it is played."""
