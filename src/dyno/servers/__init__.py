"""What people use on a server of their own, without a benchmark."""
