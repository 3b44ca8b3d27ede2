"""What PostgreSQL may be asked in place (words, functions and settings that change nothing), and
what a server that runs already says of itself before a log is played in it, only reading.

Functions are those of pg_catalog, of 10 to 18, that are immutable or stable in all of them and were
looked through by hand; without those that run a text or a table that only a string names
(`query_to_xml`, `ts_stat`), that take a number of a transaction (`txid_current`), and those that
only operators, indexes and types call. `VOLATILE` are harmless all the same. The server's own
catalogue is asked as well: where it calls one volatile that is not listed so, that one is not
played.

A statement calls functions that it does not name: through operators, casts, types, views, policies.
Those of the server's users are looked for in its catalogue. Where an operator, a cast or a type is
made of one that is not known, no statement can be told from its text, and nothing is played. Views
and policies are judged by their own text, as statements are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dyno.driver.plan import Session
from dyno.engines import Ask
from dyno.engines.postgres.session_words import judge_session_words
from dyno.errors import UsageError
from dyno.sql.tokens import Quoting
from dyno.workloads.replay.in_place import Harmless, ServerRules, taint_definitions


def split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STABLE = split_words(
    """
    abbrev abs acldefault aclexplode acos acosd acosh age any_value area array_agg array_dims
    array_fill array_length array_lower array_ndims array_position array_positions array_remove
    array_replace array_reverse array_sort array_to_json array_to_string array_to_tsvector
    array_upper ascii asin asind asinh atan atan2 atan2d atand atanh avg bit bit_and bit_count
    bit_length bit_or bit_xor bool bool_and bool_or box bpchar broadcast btrim bytea cardinality
    casefold cash_words cbrt ceil ceiling center char char_length character_length chr cidr
    circle col_description concat concat_ws convert convert_from convert_to corr cos cosd cosh
    cot cotd count covar_pop covar_samp crc32 crc32c cume_dist current_database current_schema
    current_schemas current_setting current_user date date_add date_bin date_part date_subtract
    date_trunc datemultirange daterange decode degrees dense_rank dexp diagonal diameter div
    dlog1 dlog10 dround dtrunc encode enum_first enum_last enum_range erf erfc every exp extract
    factorial family first_value float4 float8 floor format format_type gamma gcd
    generate_series generate_subscripts get_bit get_byte get_current_ts_config
    getdatabaseencoding getpgusername has_any_column_privilege has_column_privilege
    has_database_privilege has_foreign_data_wrapper_privilege has_function_privilege
    has_language_privilege has_largeobject_privilege has_parameter_privilege
    has_schema_privilege has_sequence_privilege has_server_privilege has_table_privilege
    has_tablespace_privilege has_type_privilege height host hostmask icu_unicode_version
    inet_client_addr inet_client_port inet_server_addr inet_server_port initcap int2 int4
    int4multirange int4range int8 int8multirange int8range interval is_normalized isclosed
    isfinite ishorizontal isopen isparallel isperp isvertical json_agg json_agg_strict
    json_array_elements json_array_elements_text json_array_length json_build_array
    json_build_object json_each json_each_text json_object json_object_agg
    json_object_agg_strict json_object_agg_unique json_object_agg_unique_strict json_object_keys
    json_populate_record json_populate_recordset json_strip_nulls json_to_record
    json_to_recordset json_to_tsvector json_typeof jsonb_agg jsonb_agg_strict
    jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array
    jsonb_build_object jsonb_each jsonb_each_text jsonb_insert jsonb_object jsonb_object_agg
    jsonb_object_agg_strict jsonb_object_agg_unique jsonb_object_agg_unique_strict
    jsonb_object_keys jsonb_path_exists jsonb_path_exists_tz jsonb_path_match
    jsonb_path_match_tz jsonb_path_query jsonb_path_query_array jsonb_path_query_array_tz
    jsonb_path_query_first jsonb_path_query_first_tz jsonb_path_query_tz jsonb_populate_record
    jsonb_populate_record_valid jsonb_populate_recordset jsonb_pretty jsonb_set jsonb_set_lax
    jsonb_strip_nulls jsonb_to_record jsonb_to_recordset jsonb_to_tsvector jsonb_typeof
    justify_days justify_hours justify_interval lag last_value lcm lead left length lgamma like
    like_escape line ln log log10 lower lower_inc lower_inf lpad lseg ltrim macaddr macaddr8
    macaddr8_set7bit make_date make_interval make_time make_timestamp make_timestamptz
    makeaclitem masklen max md5 min min_scale mod mode money multirange mxid_age name
    nameconcatoid netmask network normalize notlike now npoints nth_value ntile num_nonnulls
    num_nulls numeric numeric_div_trunc numeric_exp numeric_ln numeric_log numeric_sqrt
    nummultirange numnode numrange obj_description octet_length oid oidvectortypes overlaps
    overlay parse_ident path pclose percent_rank percentile_cont percentile_disc
    pg_available_extension_versions pg_available_extensions pg_backend_pid pg_backup_start_time
    pg_basetype pg_char_to_encoding pg_client_encoding pg_collation_for pg_collation_is_visible
    pg_column_compression pg_column_is_updatable pg_column_size pg_column_toast_chunk_id
    pg_conf_load_time pg_config pg_conversion_is_visible pg_current_snapshot
    pg_current_xact_id_if_assigned pg_cursor pg_describe_object pg_encoding_max_length
    pg_encoding_to_char pg_extension_update_paths pg_filenode_relation pg_function_is_visible
    pg_get_acl pg_get_catalog_foreign_keys pg_get_constraintdef pg_get_expr
    pg_get_function_arg_default pg_get_function_arguments pg_get_function_identity_arguments
    pg_get_function_result pg_get_function_sqlbody pg_get_functiondef pg_get_indexdef
    pg_get_keywords pg_get_object_address pg_get_partition_constraintdef pg_get_partkeydef
    pg_get_publication_tables pg_get_replica_identity_index pg_get_replication_slots
    pg_get_ruledef pg_get_serial_sequence pg_get_statisticsobjdef
    pg_get_statisticsobjdef_columns pg_get_statisticsobjdef_expressions pg_get_triggerdef
    pg_get_userbyid pg_get_viewdef pg_has_role pg_identify_object pg_identify_object_as_address
    pg_index_column_has_property pg_index_has_property pg_indexam_has_property
    pg_indexam_progress_phasename pg_is_other_temp_schema pg_lsn pg_mcv_list_items
    pg_my_temp_schema pg_numa_available pg_opclass_is_visible pg_operator_is_visible
    pg_opfamily_is_visible pg_options_to_table pg_partition_root pg_postmaster_start_time
    pg_prepared_statement pg_relation_filenode pg_relation_filepath pg_relation_is_publishable
    pg_relation_is_updatable pg_replication_origin_oid pg_sequence_parameters
    pg_settings_get_flags pg_show_all_settings pg_size_bytes pg_size_pretty pg_snapshot_xip
    pg_snapshot_xmax pg_snapshot_xmin pg_split_walfile_name pg_stat_get_activity
    pg_stat_get_analyze_count pg_stat_get_archiver pg_stat_get_autoanalyze_count
    pg_stat_get_autovacuum_count pg_stat_get_backend_activity pg_stat_get_backend_activity_start
    pg_stat_get_backend_client_addr pg_stat_get_backend_client_port pg_stat_get_backend_dbid
    pg_stat_get_backend_idset pg_stat_get_backend_pid pg_stat_get_backend_start
    pg_stat_get_backend_subxact pg_stat_get_backend_userid pg_stat_get_backend_wait_event
    pg_stat_get_backend_wait_event_type pg_stat_get_backend_xact_start
    pg_stat_get_bgwriter_buf_written_checkpoints pg_stat_get_bgwriter_buf_written_clean
    pg_stat_get_bgwriter_maxwritten_clean pg_stat_get_bgwriter_requested_checkpoints
    pg_stat_get_bgwriter_stat_reset_time pg_stat_get_bgwriter_timed_checkpoints
    pg_stat_get_blocks_fetched pg_stat_get_blocks_hit pg_stat_get_buf_alloc
    pg_stat_get_buf_fsync_backend pg_stat_get_buf_written_backend
    pg_stat_get_checkpoint_sync_time pg_stat_get_checkpoint_write_time
    pg_stat_get_checkpointer_buffers_written pg_stat_get_checkpointer_num_performed
    pg_stat_get_checkpointer_num_requested pg_stat_get_checkpointer_num_timed
    pg_stat_get_checkpointer_restartpoints_performed
    pg_stat_get_checkpointer_restartpoints_requested
    pg_stat_get_checkpointer_restartpoints_timed pg_stat_get_checkpointer_slru_written
    pg_stat_get_checkpointer_stat_reset_time pg_stat_get_checkpointer_sync_time
    pg_stat_get_checkpointer_write_time pg_stat_get_db_active_time pg_stat_get_db_blk_read_time
    pg_stat_get_db_blk_write_time pg_stat_get_db_blocks_fetched pg_stat_get_db_blocks_hit
    pg_stat_get_db_checksum_failures pg_stat_get_db_checksum_last_failure
    pg_stat_get_db_conflict_all pg_stat_get_db_conflict_bufferpin pg_stat_get_db_conflict_lock
    pg_stat_get_db_conflict_logicalslot pg_stat_get_db_conflict_snapshot
    pg_stat_get_db_conflict_startup_deadlock pg_stat_get_db_conflict_tablespace
    pg_stat_get_db_deadlocks pg_stat_get_db_idle_in_transaction_time pg_stat_get_db_numbackends
    pg_stat_get_db_parallel_workers_launched pg_stat_get_db_parallel_workers_to_launch
    pg_stat_get_db_session_time pg_stat_get_db_sessions pg_stat_get_db_sessions_abandoned
    pg_stat_get_db_sessions_fatal pg_stat_get_db_sessions_killed pg_stat_get_db_stat_reset_time
    pg_stat_get_db_temp_bytes pg_stat_get_db_temp_files pg_stat_get_db_tuples_deleted
    pg_stat_get_db_tuples_fetched pg_stat_get_db_tuples_inserted pg_stat_get_db_tuples_returned
    pg_stat_get_db_tuples_updated pg_stat_get_db_xact_commit pg_stat_get_db_xact_rollback
    pg_stat_get_dead_tuples pg_stat_get_function_calls pg_stat_get_function_self_time
    pg_stat_get_function_total_time pg_stat_get_ins_since_vacuum pg_stat_get_last_analyze_time
    pg_stat_get_last_autoanalyze_time pg_stat_get_last_autovacuum_time
    pg_stat_get_last_vacuum_time pg_stat_get_lastscan pg_stat_get_live_tuples
    pg_stat_get_mod_since_analyze pg_stat_get_numscans pg_stat_get_progress_info
    pg_stat_get_replication_slot pg_stat_get_slru pg_stat_get_snapshot_timestamp
    pg_stat_get_subscription pg_stat_get_subscription_stats pg_stat_get_total_analyze_time
    pg_stat_get_total_autoanalyze_time pg_stat_get_total_autovacuum_time
    pg_stat_get_total_vacuum_time pg_stat_get_tuples_deleted pg_stat_get_tuples_fetched
    pg_stat_get_tuples_hot_updated pg_stat_get_tuples_inserted
    pg_stat_get_tuples_newpage_updated pg_stat_get_tuples_returned pg_stat_get_tuples_updated
    pg_stat_get_vacuum_count pg_stat_get_wal pg_stat_get_wal_receiver pg_stat_get_wal_senders
    pg_statistics_obj_is_visible pg_table_is_visible pg_tablespace_databases
    pg_tablespace_location pg_timezone_abbrevs pg_trigger_depth pg_ts_config_is_visible
    pg_ts_dict_is_visible pg_ts_parser_is_visible pg_ts_template_is_visible pg_type_is_visible
    pg_typeof pg_visible_in_snapshot pg_wal_lsn_diff pg_walfile_name pg_walfile_name_offset
    phraseto_tsquery pi plainto_tsquery point polygon popen position pow power querytree
    quote_ident quote_literal quote_nullable radians radius range_agg range_intersect_agg rank
    regclass regexp_count regexp_instr regexp_like regexp_match regexp_matches regexp_replace
    regexp_split_to_array regexp_split_to_table regexp_substr regr_avgx regr_avgy regr_count
    regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy repeat replace reverse right
    round row_number row_security_active row_to_json rpad rtrim satisfies_hash_partition scale
    session_user set_bit set_byte set_masklen setweight sha224 sha256 sha384 sha512
    shobj_description sign similar_escape similar_to_escape sin sind sinh slope split_part sqrt
    statement_timestamp stddev stddev_pop stddev_samp string_agg string_to_array string_to_table
    strip strpos substr substring sum system_user tan tand tanh text textlen time timestamp
    timestamptz timetz timezone to_ascii to_bin to_char to_date to_hex to_json to_jsonb
    to_number to_oct to_regclass to_regcollation to_regnamespace to_regoper to_regoperator
    to_regproc to_regprocedure to_regrole to_regtype to_regtypemod to_timestamp to_tsquery
    to_tsvector transaction_timestamp translate trim_array trim_scale trunc ts_debug ts_delete
    ts_filter ts_headline ts_lexize ts_parse ts_rank ts_rank_cd ts_token_type tsmultirange
    tsrange tstzmultirange tstzrange tsvector_to_array txid_current_if_assigned
    txid_current_snapshot txid_snapshot_xip txid_snapshot_xmax txid_snapshot_xmin
    txid_visible_in_snapshot unicode_assigned unicode_version unistr unnest upper upper_inc
    upper_inf uuid_extract_timestamp uuid_extract_version var_pop var_samp varbit varchar
    variance version websearch_to_tsquery width width_bucket xid xml xml_is_well_formed
    xml_is_well_formed_content xml_is_well_formed_document xmlagg xmlcomment xmlexists xmltext
    xmlvalidate xpath xpath_exists
    """
)
#: What types of users are read and written with.
TYPES = split_words("enum_in enum_out domain_in range_in range_out record_in record_out")
VOLATILE = split_words(
    """
    random random_normal setseed clock_timestamp timeofday gen_random_uuid uuidv4 uuidv7 currval
    lastval current_query pg_sleep pg_sleep_for pg_sleep_until pg_database_size pg_indexes_size
    pg_relation_size pg_table_size pg_tablespace_size pg_total_relation_size pg_is_in_recovery
    pg_current_wal_lsn pg_current_wal_insert_lsn pg_current_wal_flush_lsn
    pg_last_wal_receive_lsn pg_last_wal_replay_lsn pg_last_xact_replay_timestamp
    pg_blocking_pids pg_safe_snapshot_blocking_pids pg_partition_ancestors pg_partition_tree
    pg_lock_status pg_sequence_last_value txid_status pg_xact_status pg_xact_commit_timestamp
    pg_jit_available array_sample array_shuffle bernoulli system
    """
)
CONSTRUCTS = split_words(
    """
    and or not in any some all exists on using where having when then else case select from join
    lateral union except intersect values with as over filter within group by order limit offset
    fetch between like ilike similar returning distinct cast coalesce nullif greatest least
    grouping sets cube rollup row array extract substring overlay trim position treat collation
    xmlelement xmlforest xmlparse xmlpi xmlroot xmlserialize xmlconcat xmltable xmlattributes
    xmlnamespaces json json_scalar json_serialize json_object json_array json_arrayagg
    json_objectagg json_value json_query json_exists json_table columns passing rows range
    groups partition window only tablesample repeatable operator varchar char character varying
    bpchar numeric decimal dec float bit varbit timestamp timestamptz time timetz interval
    precision nchar national is isnull notnull escape end for explain ordinality symmetric
    asymmetric materialized recursive cursor
    """
)
HARMLESS = Harmless(
    verbs=split_words("select with values table show explain declare fetch move close"),
    functions=STABLE | VOLATILE,
    constructs=CONSTRUCTS,
    changing=split_words("insert update delete merge share nextval"),
    schemas=split_words("pg_catalog"),
    name_bytes_most=63,
)
#: Extensions whose functions are as harmless as the server's own where they are not volatile.
EXTENSIONS = split_words(
    """
    btree_gin btree_gist citext cube earthdistance fuzzystrmatch hstore intarray isn ltree pg_trgm
    pgcrypto seg unaccent uuid-ossp vector postgis postgis_topology plpgsql
    """
)
#: Of extensions that come with the server, functions that are volatile and change nothing, or that
#: stand in an extension beside others that do.
MEMBERS = {
    "moddatetime": split_words("moddatetime"),
    "insert_username": split_words("insert_username"),
    "pg_buffercache": split_words(
        "pg_buffercache_pages pg_buffercache_summary pg_buffercache_usage_counts"
    ),
    "pg_stat_statements": split_words("pg_stat_statements pg_stat_statements_info"),
    "pgcrypto": split_words(
        "gen_random_bytes gen_random_uuid gen_salt pgp_sym_encrypt pgp_sym_encrypt_bytea"
        " pgp_pub_encrypt pgp_pub_encrypt_bytea"
    ),
    "pgstattuple": split_words("pgstattuple pgstattuple_approx pgstatindex pg_relpages"),
    "tablefunc": split_words("normal_rand"),
    "tsm_system_rows": split_words("system_rows"),
    "tsm_system_time": split_words("system_time"),
    "uuid-ossp": split_words("uuid_generate_v1 uuid_generate_v1mc uuid_generate_v4"),
}
#: The library of an extension, where it is not called as the extension is.
LIBRARIES = {"intarray": "_int"}
#: What a rollback undoes: beneath a statement that is rolled back (defaults, triggers) they may be
#: called. A sequence stays advanced.
UNDONE = split_words(
    """
    nextval pg_notify txid_current pg_current_xact_id suppress_redundant_updates_trigger
    tsvector_update_trigger tsvector_update_trigger_column
    """
)


#: The first object that was not made with the cluster.
USERS_FROM = 16384
_NAMES = ", ".join(f"'{name}'" for name in sorted(EXTENSIONS))
#: The functions of users: whether each is one that a range type brings along, or one of a known
#: extension that writes nothing.
_FUNCTIONS = f"""
SELECT p.oid, p.proname,
  (p.provolatile <> 'v' OR p.proname IN ('unaccent_init', 'unaccent_lexize'))
  AND NOT p.prosecdef AND p.proconfig IS NULL
  AND (p.prosrc ~ '^(multi)?range_constructor[0-3]$' AND l.lanname = 'internal'
    OR l.lanname IN ('c', 'internal', 'sql') AND EXISTS (
    SELECT 1 FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
    WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
      AND d.refclassid = 'pg_extension'::regclass AND e.extname IN ({_NAMES}))) AS is_harmless
FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang WHERE p.oid >= {USERS_FROM}
"""
#: A row per name: are all of them harmless?
NAMED = f"SELECT proname, bool_and(is_harmless) FROM ({_FUNCTIONS}) f GROUP BY 1"
#: The server's own functions: does it call one of the name volatile?
OWN = f"""
SELECT proname, bool_or(provolatile = 'v') FROM pg_proc WHERE oid < {USERS_FROM} GROUP BY 1
"""
#: What calls a function without naming it, where that is not known to be harmless.
UNNAMED = f"""
WITH f AS ({_FUNCTIONS})
SELECT 'operator ' || oprname FROM pg_operator o JOIN f ON f.oid = oprcode WHERE NOT is_harmless
UNION ALL SELECT 'cast to ' || format_type(casttarget, NULL)
  FROM pg_cast JOIN f ON f.oid = castfunc WHERE NOT is_harmless
UNION ALL SELECT 'type ' || typname FROM pg_type t JOIN f
  ON f.oid IN (typinput, typoutput, typreceive, typsend, typmodin, typmodout)
  WHERE NOT is_harmless
UNION ALL SELECT 'range type ' || rngtypid::regtype FROM pg_range JOIN f
  ON f.oid IN (rngcanonical, rngsubdiff) WHERE NOT is_harmless
UNION ALL SELECT 'operator class over ' || format_type(amproclefttype, NULL)
  FROM pg_amproc JOIN f ON f.oid = amproc WHERE NOT is_harmless
UNION ALL SELECT 'text search template ' || tmplname FROM pg_ts_template JOIN f
  ON f.oid IN (tmplinit, tmpllexize) WHERE NOT is_harmless
UNION ALL SELECT 'text search parser ' || prsname FROM pg_ts_parser JOIN f
  ON f.oid IN (prsstart, prstoken, prsend, prsheadline, prslextype) WHERE NOT is_harmless
ORDER BY 1
"""
DOMAINS = f"""
SELECT format_type(contypid, NULL), regexp_replace(pg_get_constraintdef(oid), '^CHECK', 'SELECT')
FROM pg_constraint WHERE contypid <> 0 AND contype = 'c' AND oid >= {USERS_FROM} ORDER BY 1
"""
VIEWS = f"""
SELECT 'view', relname, pg_get_viewdef(oid) FROM pg_class
WHERE relkind = 'v' AND oid >= {USERS_FROM}
UNION ALL SELECT 'table with a policy', relname, 'SELECT ' || pg_get_expr(polqual, polrelid)
FROM pg_policy JOIN pg_class c ON c.oid = polrelid WHERE polqual IS NOT NULL
"""
#: Foreign tables, and the tables that have one among their parts.
FOREIGN = """
WITH RECURSIVE whole AS (
  SELECT oid FROM pg_class WHERE relkind = 'f'
  UNION SELECT inhparent FROM pg_inherits JOIN whole ON whole.oid = inhrelid)
SELECT relname FROM pg_class JOIN whole USING (oid)
"""
STATE = """
SELECT current_setting('standard_conforming_strings'), current_setting('log_line_prefix'),
  current_user,
  (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
  (SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
   WHERE relkind IN ('r', 'p', 'v', 'f') AND nspname NOT IN ('pg_catalog', 'information_schema')
     AND nspname NOT LIKE 'pg\\_toast%' AND has_schema_privilege(n.oid, 'USAGE')
     AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')),
  (SELECT count(*) FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%'
     AND has_schema_privilege(oid, 'CREATE')),
  has_database_privilege(current_database(), 'CREATE')
"""
QUESTIONS = (STATE, NAMED, OWN, UNNAMED, DOMAINS, VIEWS, FOREIGN)
_Rows = list[list[str | None]]


def look_in_place(ask: Ask, session: Session) -> ServerRules:
    """Return what the server may be asked in place; `UsageError` if texts do not tell statements
    there.
    """
    state, named, own, unnamed, domains, views, foreign = ask(session, QUESTIONS)
    if unnamed:
        raise _build_untold_error([str(row[0]) for row in unnamed])
    conforming, log_prefix, *rights = state[0]
    harmless = _choose_harmless(named, own)
    theirs = frozenset(str(name) for name, is_harmless in named if is_harmless != "t")
    server = ServerRules(
        harmless,
        judge_session_words,
        frozenset({Quoting(True, conforming != "on", names_in_double=True)}),
        shadowed=theirs,
        dotted=theirs | ({str(name) for name, _ in own} - harmless.functions),
        tainted={str(name): "that name a table of another server" for (name,) in foreign},
        account=_describe_account(rights),
        log_prefix=log_prefix or "",
    )
    checks = [("domain", str(name), str(text)) for name, text in domains]
    if unknown := sorted(set(taint_definitions(server, checks).tainted) - set(server.tainted)):
        raise _build_untold_error([f"domain {name}" for name in unknown])
    texts = [(str(what), str(name), str(text or "")) for what, name, text in views]
    return taint_definitions(server, texts)


def _build_untold_error(things: Sequence[str]) -> UsageError:
    shown = ", ".join(things[:3]) + (", …" if len(things) > 3 else "")
    return UsageError(
        "the database may call functions that write",
        cause=f"{shown}: made of functions that are not known to only read",
        hint="play the log on a copy (--data), or with --writes where it may be written to",
    )


def _choose_harmless(named: _Rows, own: _Rows) -> Harmless:
    """Return the listed functions and known extensions', without those that this server has as
    volatile.
    """
    volatile = {str(name) for name, is_volatile in own if is_volatile == "t"} - VOLATILE
    unlisted = {str(name) for name, _ in own} - HARMLESS.functions
    added = {str(name) for name, is_harmless in named if is_harmless == "t"} - unlisted
    return replace(HARMLESS, functions=(HARMLESS.functions | added) - volatile)


def _describe_account(rights: Sequence[str | None]) -> str:
    """Return what the account may write, in words, or ""."""
    user, is_superuser, tables, schemas, may_create = rights
    if is_superuser == "t":
        return f"the account {user} is a superuser"
    found = [f"write to {tables} tables"] if tables not in ("0", None) else []
    found += ["make tables"] if schemas not in ("0", None) or may_create == "t" else []
    return f"the account {user} may {' and '.join(found)}" if found else ""
