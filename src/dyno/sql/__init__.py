"""SQL's texts as servers' own lexers read them: tokens, and how a session quotes."""
