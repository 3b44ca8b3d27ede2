"""Builds engines from a user's source tree by a recipe and flags, into the cache.

    trees       a folder, a commit of a git repository, or a Debian source package, as a tree
    recipe      how a tree of one engine and era is built, as data (`engines/recipes/*.toml`)
    toolchain   compiler, tools, jobs: what this machine builds with
    plan        a build before it starts: what it is made of, and the key of all that
    work        its steps, remedies and log, in a folder that outlives a kill
    build       all of it: a prefix in the cache, whole or not at all; what it is called
    diagnosis   what a failure means, and what to do (`catalogue/*.toml`)

The user's tree is only read. What is built lies in the cache under the hash of tree, recipe, flags,
patch and compiler. A build that was killed goes on where it was: its folder outlives it.
"""
