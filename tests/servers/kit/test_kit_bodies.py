"""The bodies of the kit's routines: what runs with other rights prepares no text that came in."""

from __future__ import annotations

import re

import pytest
from repository import ROOT

from dyno.servers.kit import jobs, queueing, rights

SQL = ROOT / "src/dyno/servers/kit/sql"
PAGE = ROOT / "docs/guides/kit/rights.md"
#: What is made from Python, as it is for account 2.
GENERATED = [*queueing.list_routines(queueing.QueueAccount("a@b", 2), 7), *jobs._list_workers()]
ROUTINE = re.compile(r"CREATE (?:DEFINER=\S+ )?(PROCEDURE|FUNCTION|TRIGGER) (\w+\.\w+)")
#: Types whose values are no text.
NUMBERS = re.compile(r"TINYINT|SMALLINT|INT|BIGINT|DATETIME|DECIMAL")
#: Text that is put into statements, by routine: names from the server's own dictionary, quoted.
QUOTED = ("REPLACE(v_table, '`', '``')", "REPLACE(v_partition, '`', '``')")
#: What prepares its caller's own text, with its caller's rights; none is called by the others.
CALLERS = {
    "async.command",
    *("kit.check_documents", "kit.search", "sys_history.psh_answer"),
}


def routines() -> dict[str, str]:
    """The text of every procedure and function, its comments left out."""
    texts = [text for script in SQL.rglob("*.sql") for text in script.read_text().split("$$\n")]
    bare = (re.sub(r"(^|\s)--\s.*", "", text) for text in [*texts, *GENERATED])
    return {made[2]: text for text in bare if (made := ROUTINE.search(text))}


ALL = routines()


def called(name: str) -> set[str]:
    """Every routine that this one calls, and they in turn."""
    found, left = {name}, [name]
    while left:
        text = ALL[left.pop()]
        more = set(re.findall(r"\b(?:async|kit|ps_history|sys_history)\.\w+", text))
        new = (more & ALL.keys()) - found
        found |= new
        left += new
    return found


def is_definers(name: str) -> bool:
    return "SQL SECURITY INVOKER" not in ALL[name]


#: Who has other rights than a caller: the list's, and what events call with the installer's.
ENTRY_POINTS = sorted(
    {name for name in ALL if is_definers(name)}
    | {"async.tend", "async.sweep", "async.work", "ps_history.collect_at_interval"}
    | {f"async.{it}_2" for it in ("heed", "sweep")}
)


def test_every_routine_says_whose_rights_it_has() -> None:
    assert len(ALL) > 60
    said = {name: text for name, text in ALL.items() if "CREATE TRIGGER" not in text}
    assert not [name for name, text in said.items() if "SQL SECURITY " not in text]
    allowed = re.compile("|".join(rights.DEFINERS.values()))
    assert not [name for name in said if is_definers(name) and not allowed.fullmatch(name)]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_what_has_other_rights_reaches_nothing_that_prepares_its_callers_text(entry: str) -> None:
    assert not called(entry) & CALLERS


@pytest.mark.parametrize("name", sorted(set().union(*map(called, ENTRY_POINTS))))
def test_what_has_other_rights_prepares_numbers_and_quoted_names_only(name: str) -> None:
    """The one exception is a job, whose procedure has its account's rights."""
    text = ALL[name]
    prepared = re.findall(r"PREPARE\s+\w+\s+FROM\s+(\S+?);", text)
    if re.fullmatch(r"async\.run_\d+", name):
        assert prepared and "DEFINER='a'@'b'" in text
        return
    for variable in prepared:
        built = re.findall(rf"SET {re.escape(variable)} = (.*?);", text, re.DOTALL)
        assert variable.startswith("@") and built, f"{name} prepares {variable}"
        for expression in built:
            if expression == "NULL":
                continue
            rest = expression
            for quoted in QUOTED:
                rest = rest.replace(quoted, "")
            rest = re.sub(r"'[^']*'", "", rest)
            for word in set(re.findall(r"[@\w.]+", rest)) - {"CONCAT", "ELT"}:
                kind = re.search(rf"\b{re.escape(word)}\b[^;()]*?\b({NUMBERS.pattern})\b", text)
                assert kind and word.startswith("v_"), f"{name} prepares {word}"


def test_who_prepares_a_callers_text_has_the_callers_rights() -> None:
    known = set().union(*map(called, ENTRY_POINTS)) | CALLERS
    assert not [name for name, text in ALL.items() if "PREPARE" in text and name not in known]
    assert not [name for name in CALLERS if is_definers(name)]


def test_no_name_of_a_lock_is_one_that_anybody_can_take() -> None:
    assert not [name for name, text in ALL.items() if "GET_LOCK" in text]


def test_the_page_has_every_grant_and_every_routine_with_other_rights() -> None:
    page = PAGE.read_text()
    for grant in rights.GRANTS:
        assert f"-- {grant.part}: {grant.purpose}" in page
        assert not [it for it in grant.list_statements("'reader'@'%'") if f"{it};" not in page]
    names = {re.sub(r"_\d+\b", "_N", name) for name in ALL if is_definers(name)}
    assert names and not [name for name in names if f"`{name}`" not in page]


def test_no_page_grants_all_routines_of_a_schema() -> None:
    """But to whoever installs."""
    pages = [*(ROOT / "docs/guides/kit").glob("*.md")]
    assert pages
    for page in pages:
        assert not re.search(r"GRANT [^;]*EXECUTE[^;]* ON \S+\.\*", page.read_text()), page.name
