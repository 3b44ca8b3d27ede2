"""What a disk does under a database: fio's jobs as data, played on paths and devices, and audited.

Files of ours have no name, and loop devices of ours go with their last user, so that nothing
stays behind however we end.
"""
