"""sysbench as a program: its command line, its plays by our driver, its reports in its words."""
