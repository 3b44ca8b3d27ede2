"""The sections of the page: one file each, which offers `SECTION`."""
