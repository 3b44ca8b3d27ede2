"""What lies below a folder, while others take it away."""

from __future__ import annotations

import shutil
from pathlib import Path

from dyno.disk_use import list_within, measure_block_bytes, measure_file_bytes


def test_all_below_is_listed_and_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "f").write_bytes(b"x" * 5000)
    (tmp_path / "link").symlink_to("a")
    listed = {str(path.relative_to(tmp_path)) for path in list_within(tmp_path)}
    assert listed == {"a", "a/b", "a/b/f", "link"}
    assert measure_file_bytes(tmp_path) == 5000
    assert measure_block_bytes(tmp_path) >= 5000


def test_a_folder_that_goes_meanwhile_is_passed_over(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "within").mkdir(parents=True)
    walk = list_within(tmp_path)
    first = next(walk)
    for name in ("a", "b"):
        shutil.rmtree(tmp_path / name)
    assert {first, *walk} == {tmp_path / "a", tmp_path / "b"}
    assert measure_file_bytes(tmp_path / "gone") == measure_block_bytes(tmp_path / "gone") == 0
