"""Cases from the field: logs that were read wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno.errors import UsageError
from dyno.workloads.replay.formats import LogFile, read_log
from dyno.workloads.replay.logs import LogEntry

CASES = Path(__file__).parents[2] / "golden" / "cases"
#: The night in which summer time ends, in every form of PostgreSQL's logs.
NIGHT = [
    ("2025-10-26 02:59:58.000 CEST", "6.1", 1),
    ("2025-10-26 02:00:00.000 CET", "6.2", 3),
    ("2025-10-26 02:00:01.000 CET", "6.2", 4),
]


def entries(file: Path) -> list[LogEntry]:
    return list(read_log(LogFile(file)).entries)


def list_seconds(found: list[LogEntry]) -> list[tuple[float, int]]:
    """When each statement came, from the first on, and the number that it asks for."""
    in_order = sorted(found, key=lambda it: it.at_s)
    return [(it.at_s - in_order[0].at_s, int(it.sql.split()[1])) for it in in_order]


def csv_row(time: str, session: str, number: int) -> str:
    return (
        f'{time},"u","d",100,"[local]",{session},{number},"SELECT",{time},3/2,0,LOG,00000,'
        f'"statement: SELECT {number}",,,,,,,,,"psql"'
    )


def json_row(time: str, session: str, number: int) -> str:
    return (
        f'{{"timestamp":"{time}","session_id":"{session}","dbname":"d","error_severity":"LOG",'
        f'"message":"statement: SELECT {number}"}}'
    )


def stderr_row(time: str, session: str, number: int) -> str:
    return f"{time} [{session[2:]}] u@d LOG:  statement: SELECT {number}"


def test_the_night_in_which_summer_time_ends_takes_three_seconds() -> None:
    """Case 27."""
    found = entries(CASES / "27.log")
    assert list_seconds(found) == [(0, 1), (2, 3), (3, 4)]


@pytest.mark.parametrize("row", [csv_row, json_row, stderr_row])
@pytest.mark.parametrize("zones", [("CEST", "CET"), ("+02", "+01"), ("EDT", "EST")])
def test_zones_of_all_forms_of_a_log_are_read(
    row: object, zones: tuple[str, str], tmp_path: Path
) -> None:
    assert callable(row)
    lines = [row(*it) for it in NIGHT]
    text = "\n".join(lines).replace("CEST", zones[0]).replace("CET", zones[1])
    (tmp_path / "x.log").write_text(f"{text}\n")
    found = entries(tmp_path / "x.log")
    assert list_seconds(found) == [(0, 1), (2, 3), (3, 4)]


def test_a_shipper_s_offset_is_read(tmp_path: Path) -> None:
    lines = [
        f"2025-10-26T{at} db1 postgres[{it[1][2:]}]: [1-1] LOG:  statement: SELECT {it[2]}"
        for at, it in zip(("02:59:58+02:00", "02:00:00+01:00", "01:00:01Z"), NIGHT, strict=True)
    ]
    (tmp_path / "x.log").write_text("\n".join(lines) + "\n")
    found = entries(tmp_path / "x.log")
    assert list_seconds(found) == [(0, 1), (2, 3), (3, 4)]


def test_a_zone_that_is_not_known_stands_alone_or_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.log"
    lines = [stderr_row(*it) for it in NIGHT[1:]]
    file.write_text("\n".join(lines).replace("CET", "XYT") + "\n")
    assert len(entries(file)) == 2
    file.write_text("\n".join([lines[0].replace("CET", "XYT"), lines[1]]) + "\n")
    with pytest.raises(UsageError, match="line 2: the time zone 'XYT' is not known"):
        entries(file)


def test_of_files_that_tail_joined_the_log_is_read() -> None:
    """Case 33."""
    found = entries(CASES / "33.log")
    assert [it.sql.strip() for it in found] == [
        "SELECT name FROM `people`;",
        "SELECT id FROM people WHERE id = 2;",
    ]


def test_two_logs_that_tail_joined_are_refused(tmp_path: Path) -> None:
    text = (CASES / "33.log").read_text().replace("mysqld.log <==\n", "mysqld.log <==\n# Time: x\n")
    (tmp_path / "x.log").write_text(text)
    with pytest.raises(UsageError, match="holds more than one log"):
        entries(tmp_path / "x.log")


def test_entries_that_a_service_wrote_on_one_line_are_read() -> None:
    """Case 34."""
    found = entries(CASES / "34.log")
    assert [(it.session, it.sql) for it in found] == [
        ("40", f"SELECT name FROM people WHERE id = {n};") for n in (1, 2)
    ]
    assert found[1].at_s - found[0].at_s == pytest.approx(1)


def test_blank_lines_in_an_entry_say_nothing(tmp_path: Path) -> None:
    lines = (CASES / "33.log").read_text().splitlines()
    slow = [it for it in lines if not it.startswith(("==>", "2025"))]
    (tmp_path / "x.log").write_text("\n\n".join(slow) + "\n")
    found = entries(tmp_path / "x.log")
    assert [it.sql.split()[1] for it in found] == ["name", "id"]
    assert [it.session for it in found] == ["341646", "341647"]
