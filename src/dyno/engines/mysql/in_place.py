"""What MySQL and MariaDB may be asked in place (words, functions and hints that change nothing),
and what a server that runs already says of itself before a log is played in it, only reading.

`FUNCTIONS` are built into every server from MySQL 5.6 and MariaDB 10.1 on, `LATER` into some: where
a server has no such function, one of its users' may have the name, so they are called only where
the server lists its loadable functions. Not among them are those that lock (`GET_LOCK`), wait for
other servers, read files (`LOAD_FILE`), are a statement's word as well (`INSERT()`), or call what a
column's default says (`DEFAULT()`).

A statement names whatever it calls, but for what a view calls: views are judged by their own text,
as statements are. Stored and loadable functions are not played: what a user wrote of a function
(DETERMINISTIC, READS SQL DATA) no server checks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from dyno.driver.plan import Session
from dyno.engines import Ask
from dyno.engines.mysql.session_words import find_quoting, judge_session_words
from dyno.errors import TrialFailed, UsageError
from dyno.sql.tokens import Quoting
from dyno.workloads.replay.in_place import Harmless, ServerRules, taint_definitions


def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTIONS = _split_words(
    """
    ascii bin bit_length char char_length character_length concat concat_ws elt export_set field
    find_in_set format from_base64 to_base64 hex instr lcase left length locate lower lpad ltrim
    make_set mid oct octet_length ord position quote repeat replace reverse right rpad rtrim
    soundex space strcmp substr substring substring_index trim ucase unhex upper weight_string
    abs acos asin atan atan2 ceil ceiling conv cos cot crc32 degrees exp floor ln log log10 log2
    mod pi pow power radians rand round sign sin sqrt tan truncate adddate addtime convert_tz
    curdate current_date current_time current_timestamp curtime date date_add date_format
    date_sub datediff day dayname dayofmonth dayofweek dayofyear extract from_days from_unixtime
    get_format hour last_day localtime localtimestamp makedate maketime microsecond minute month
    monthname now period_add period_diff quarter second sec_to_time str_to_date subdate subtime
    sysdate time time_format time_to_sec timediff timestamp timestampadd timestampdiff to_days
    to_seconds unix_timestamp utc_date utc_time utc_timestamp week weekday weekofyear year
    yearweek coalesce greatest if ifnull interval isnull least nullif cast convert avg bit_and
    bit_or bit_xor bit_count count group_concat max min std stddev stddev_pop stddev_samp sum
    var_pop var_samp variance aes_encrypt aes_decrypt compress uncompress uncompressed_length
    md5 sha sha1 sha2 benchmark charset coercibility collation connection_id current_user
    database found_rows last_insert_id row_count schema session_user system_user user version
    values inet_aton inet_ntoa inet6_aton inet6_ntoa is_ipv4 is_ipv6 is_ipv4_compat
    is_ipv4_mapped name_const sleep uuid uuid_short is_free_lock is_used_lock extractvalue
    updatexml point linestring polygon st_area st_asbinary st_astext st_buffer st_centroid
    st_contains st_crosses st_difference st_dimension st_disjoint st_distance st_endpoint
    st_envelope st_equals st_geomfromtext st_geomfromwkb st_intersection st_intersects
    st_isempty st_numpoints st_overlaps st_pointn st_srid st_startpoint st_touches st_union
    st_within st_x st_y mbrcontains mbrdisjoint mbrequal mbrintersects mbroverlaps mbrtouches
    mbrwithin
    """
)
LATER = _split_words(
    """
    any_value bin_to_uuid uuid_to_bin is_uuid json_array json_array_append json_array_insert
    json_arrayagg json_contains json_contains_path json_depth json_exists json_extract
    json_insert json_keys json_length json_merge json_merge_patch json_merge_preserve
    json_object json_objectagg json_overlaps json_pretty json_quote json_query json_remove
    json_replace json_schema_valid json_search json_set json_storage_size json_table json_type
    json_unquote json_valid json_value json_detailed json_compact json_loose json_equals
    json_normalize regexp_like regexp_instr regexp_replace regexp_substr row_number rank
    dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value grouping
    median percentile_cont percentile_disc random_bytes format_bytes format_pico_time
    ps_current_thread_id ps_thread_id statement_digest statement_digest_text current_role nvl
    nvl2 to_char natural_sort_key lastval column_get column_json column_exists column_list
    column_check st_distance_sphere st_geohash st_isvalid st_latitude st_longitude
    st_makeenvelope st_pointfromgeohash st_simplify st_transform st_validate st_geomfromgeojson
    st_asgeojson json_array_intersect json_object_filter_keys json_object_to_array json_key_value
    json_schema_validation_report add_months sformat chr crc32c lengthb decode_oracle sys_guid
    rownum vec_distance vec_distance_cosine vec_distance_euclidean vec_fromtext vec_totext
    string_to_vector to_vector vector_to_string from_vector vector_dim distance gtid_subset
    gtid_subtract st_collect st_geometrytype st_isclosed st_length st_linefromtext st_numgeometries
    st_polyfromtext st_swapxy st_convexhull st_pointfromtext st_frechetdistance
    st_hausdorffdistance icu_version
    """
)
#: Built-in functions that lock, wait for others, read files or advance a sequence: a bare call is
#: one of them, whatever users have by that name.
EFFECTS = _split_words(
    """
    get_lock release_lock release_all_locks load_file master_pos_wait source_pos_wait
    master_gtid_wait wait_for_executed_gtid_set wait_until_sql_thread_after_gtids nextval setval
    wsrep_sync_wait_upto_gtid
    """
)
CONSTRUCTS = _split_words(
    """
    and or xor not in any some all exists on using where having when then else case end select
    from join union except intersect minus values with as over filter within group by order
    limit offset fetch between like rlike regexp distinct distinctrow cast convert interval row
    if match against div mod is escape collate returning lateral partition index key keys of
    while until elseif then do enum
    straight_join sql_no_cache sql_cache sql_calc_found_rows sql_small_result sql_big_result
    sql_buffer_result high_priority window columns nested path rollup return char varchar
    decimal numeric dec fixed float double real binary varbinary bit int integer tinyint
    smallint mediumint bigint datetime date time timestamp year text blob nchar unsigned signed
    explain format sounds
    """
)
#: A hint that sets a variable (SET_VAR) or moves the session's thread (RESOURCE_GROUP) is not one.
HINTS = _split_words(
    """
    max_execution_time index no_index join_index no_join_index group_index no_group_index
    order_index no_order_index join_order join_prefix join_suffix join_fixed_order bka no_bka
    bnl no_bnl hash_join no_hash_join merge no_merge mrr no_mrr no_icp no_range_optimization
    semijoin no_semijoin subquery skip_scan no_skip_scan index_merge no_index_merge
    derived_condition_pushdown no_derived_condition_pushdown qb_name
    """
)
HARMLESS = Harmless(
    verbs=_split_words("select with values table show explain describe desc help checksum"),
    functions=FUNCTIONS | LATER,
    constructs=CONSTRUCTS,
    changing=_split_words("insert update delete outfile dumpfile share merge nextval next"),
    hints=HINTS,
    fills_variables=True,
)
#: Storage engines whose tables are the server's own; others reach files or other servers.
STORAGE_ENGINES = _split_words(
    """
    innodb myisam memory csv archive blackhole mrg_myisam aria rocksdb tokudb sequence ndbcluster
    columnstore performance_schema
    """
)


_OWN = "('information_schema', 'performance_schema', 'mysql', 'sys')"
STATE = (
    "SELECT @@SESSION.sql_mode, @@GLOBAL.sql_mode, @@SESSION.character_set_client, CURRENT_USER()"
)
STORED = "SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_TYPE = 'FUNCTION'"
VIEWS = (
    "SELECT TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS"
    f" WHERE TABLE_SCHEMA NOT IN {_OWN}"
)
ELSEWHERE = (
    "SELECT TABLE_NAME, ENGINE FROM information_schema.TABLES"
    f" WHERE TABLE_SCHEMA NOT IN {_OWN} AND ENGINE IS NOT NULL"
    f" AND LOWER(ENGINE) NOT IN ({', '.join(repr(it) for it in sorted(STORAGE_ENGINES))})"
)
GRANTS = "SHOW GRANTS"
QUESTIONS = (STATE, STORED, VIEWS, ELSEWHERE, GRANTS)
#: Loadable functions, where the account may see them; 8.0 has those of components in the second.
LOADABLE = (
    "SELECT name FROM mysql.func",
    "SELECT UDF_NAME FROM performance_schema.user_defined_functions",
)
#: Tables of MariaDB's whose generated columns may call loadable functions; MySQL's may not.
GENERATED = (
    "SELECT DISTINCT TABLE_NAME FROM information_schema.COLUMNS"
    f" WHERE TABLE_SCHEMA NOT IN {_OWN} AND EXTRA REGEXP 'VIRTUAL|STORED|PERSISTENT'"
    " AND VERSION() LIKE '%MariaDB%'"
)
#: Rights with which nothing is changed.
_READING = frozenset(
    [
        "USAGE",
        "SELECT",
        "SHOW DATABASES",
        "SHOW VIEW",
        "PROCESS",
        "REPLICATION CLIENT",
        "BINLOG MONITOR",
    ]
)
_GRANT = re.compile(r"GRANT (.+?) ON (\S+) TO ")
_SHOWN = 4


def look_in_place(ask: Ask, session: Session) -> ServerRules:
    """Return what the server may be asked in place; `UsageError` if it reads texts in an unknown
    way.
    """
    state, stored, views, elsewhere, grants = ask(session, QUESTIONS)
    own_mode, global_mode, characters, user = (str(it or "") for it in state[0])
    readings = {find_quoting(own_mode), find_quoting(global_mode)}
    known = frozenset(it for it in readings if it is not None)
    if len(known) < len(readings) or not characters.startswith("utf8"):
        cause = f"sql_mode is '{own_mode}' and character_set_client {characters}"
        hint = "play the log on a copy (--data), or with --writes where it may be written to"
        raise UsageError("cannot tell how the server reads statements", cause=cause, hint=hint)
    loadable = read_loadable(ask, session)
    names = {str(name).lower() for (name,) in stored} | (loadable or set())
    server = ServerRules(
        choose_harmless(loadable),
        judge_session_words,
        known,
        shadowed=frozenset(names),
        tainted=_find_tainted_tables(ask, session, elsewhere, loadable),
        account=_describe_account(user, [str(row[0]) for row in grants]),
    )
    texts = [("view", str(name), str(text or "")) for name, text in views]
    # the server spells views in its own way, whatever a session's sql_mode
    both = frozenset(Quoting(False, escapes, names_in_double=False) for escapes in (True, False))
    judged = taint_definitions(replace(server, readings=both), texts)
    return replace(server, tainted=judged.tainted)


def _find_tainted_tables(
    ask: Ask,
    session: Session,
    elsewhere: Sequence[Sequence[str | None]],
    loadable: Collection[str] | None,
) -> dict[str, str]:
    """Tables that a statement may not mention, each with its reason."""
    (generated,) = ask(session, [GENERATED]) if loadable is None or loadable else ([],)
    calls = "that name a table whose generated column may call a loadable function"
    reaches = "that name a table of a storage engine not known to read only"
    return {
        **{str(name): calls for (name,) in generated},
        **{str(name): reaches for name, _ in elsewhere},
    }


def choose_harmless(loadable: Collection[str] | None) -> Harmless:
    functions = HARMLESS.functions if loadable is not None else HARMLESS.functions - LATER
    return replace(HARMLESS, functions=functions)


def read_loadable(ask: Ask, session: Session) -> set[str] | None:
    """The names of loadable functions; None where no table of them may be read."""
    found: list[set[str]] = []
    for question in LOADABLE:
        try:
            (rows,) = ask(session, [question])
        except TrialFailed:
            continue
        found.append({str(name).lower() for (name,) in rows})
    return set().union(*found) if found else None


def _describe_account(user: str, grants: Sequence[str]) -> str:
    """Return what the account may write, in words, or ""."""
    rights = list(dict.fromkeys(_find_writing_grants(grants)))
    if not rights:
        return ""
    more = ", …" if len(rights) > _SHOWN else ""
    return f"the account {user} has {', '.join(rights[:_SHOWN])}{more}"


def _find_writing_grants(grants: Sequence[str]) -> Iterator[str]:
    for line in grants:
        found = _GRANT.match(line)
        if found is None:
            yield "what its roles may"
            continue
        rights = re.sub(r"(?<!\s)\s*+\([^()]*\)", "", found[1]).split(",")
        for right in rights:
            if right.strip().upper() not in _READING:
                yield f"{right.strip()} on {found[2]}"
