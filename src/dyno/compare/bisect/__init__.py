"""The version or commit that made an engine slower or faster: points, oracles, the search."""
