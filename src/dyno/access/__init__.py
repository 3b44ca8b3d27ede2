"""As whom a server runs, where its socket lies, and how one that runs already is reached."""
