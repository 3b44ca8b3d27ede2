"""Shares of experiments: dealt without a coordinator, played on their hosts, gathered again."""
