"""PostgreSQL's catalogue as a graph: what an object of users calls, each edge a row.

A row tells through what (`view orders_of`), the kind of what is reached, and its oid, or for the
kind `tree` a parse tree that names more. Columns that only some versions have are read by way of
JSON, so that one text serves all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dyno.engines.postgres.in_place import USERS_FROM


def quote_oids(oids: Iterable[int]) -> str:
    return f"'{{{','.join(map(str, sorted(set(oids))))}}}'::oid[]"


def quote_texts(texts: Iterable[str]) -> str:
    escaped = (it.replace("\\", "\\\\").replace("'", "''") for it in sorted(texts))
    inner = ", ".join(f"E'{it}'" for it in escaped)
    return f"ARRAY[{inner}]::text[]"


@dataclass(frozen=True)
class FunctionRow:
    """A function. `is_implied`: one of the server's operators, casts, types or aggregates uses it.
    `tree`: its body, if the server has parsed it (BEGIN ATOMIC). `same_as`: the server's own
    function that it is another name of.
    """

    oid: int
    signature: str
    name: str
    language: str
    is_volatile: bool
    text: str
    library: str
    extension: str
    is_implied: bool
    is_aggregate: bool
    tree: str
    same_as: int

    @staticmethod
    def read(row: Sequence[str | None]) -> FunctionRow:
        oid, signature, name, language, volatile, *texts, implied, aggregate, tree, same = row
        text, library, extension = (it or "" for it in texts)
        flags = (implied == "t", aggregate == "t")
        words = (str(signature), str(name), str(language), volatile == "v")
        return FunctionRow(
            int(oid or 0), *words, text, library, extension, *flags, tree or "", int(same or 0)
        )


FUNCTIONS = f"""
SELECT p.oid, p.oid::regprocedure::text, proname, lanname, provolatile, prosrc, probin,
  (SELECT extname FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
   WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
     AND d.refclassid = 'pg_extension'::regclass),
  p.oid < {USERS_FROM} AND (
    EXISTS (SELECT FROM pg_operator WHERE oid < {USERS_FROM}
      AND p.oid IN (oprcode, oprrest, oprjoin))
    OR EXISTS (SELECT FROM pg_cast WHERE oid < {USERS_FROM} AND castfunc = p.oid)
    OR EXISTS (SELECT FROM pg_type WHERE oid < {USERS_FROM}
      AND p.oid IN (typinput, typoutput, typreceive, typsend, typmodin, typmodout, typanalyze))
    OR EXISTS (SELECT FROM pg_amproc WHERE oid < {USERS_FROM} AND amproc = p.oid)
    OR EXISTS (SELECT FROM pg_aggregate WHERE aggfnoid < {USERS_FROM} AND p.oid IN (aggtransfn,
      aggfinalfn, aggcombinefn, aggserialfn, aggdeserialfn, aggmtransfn, aggminvtransfn))),
  EXISTS (SELECT FROM pg_aggregate WHERE aggfnoid = p.oid), to_jsonb(p) ->> 'prosqlbody',
  (SELECT min(s.oid) FROM pg_proc s WHERE p.oid >= {USERS_FROM} AND lanname = 'internal'
   AND s.oid < {USERS_FROM} AND s.prolang = p.prolang AND s.prosrc = p.prosrc)
FROM pg_proc p JOIN pg_language l ON l.oid = prolang WHERE p.oid = ANY ({{oids}})
"""
#: Functions that reading a literal of a range calls, while a statement is parsed.
PARSED = f"""
SELECT rngcanonical, 'type ' || rngtypid::regtype FROM pg_range
  WHERE rngcanonical >= {USERS_FROM}
UNION ALL SELECT amproc, 'type ' || rngtypid::regtype FROM pg_range
  JOIN pg_opclass c ON c.oid = rngsubopc JOIN pg_amproc ON amprocfamily = opcfamily
  WHERE amproc >= {USERS_FROM}
"""
#: By the names in a body: functions, with how many arguments each takes, tables and types.
CANDIDATES = f"""
SELECT 'function', p.oid, proname::text, pronargs - pronargdefaults - (provariadic <> 0)::int,
  CASE WHEN provariadic <> 0 THEN 10000 ELSE pronargs END,
  NOT EXISTS (SELECT FROM pg_aggregate WHERE aggfnoid = p.oid)
    AND coalesce(to_jsonb(p) ->> 'prokind', 'f') = 'f'
FROM pg_proc p WHERE proname::text = ANY ({{calls}})
UNION ALL SELECT 'relation', oid, relname::text, 0, 0, false FROM pg_class
  WHERE oid >= {USERS_FROM} AND relname::text = ANY ({{names}})
UNION ALL SELECT 'type', oid, typname::text, 0, 0, false FROM pg_type
  WHERE oid >= {USERS_FROM} AND typname::text = ANY ({{names}})
"""
#: Operators of users that a body may mean by these signs: those of types that nothing has reached
#: take no part where the server has an operator of the same signs.
SYMBOLS = f"""
SELECT 'operator ' || o.oprname, 'operator', o.oid FROM pg_operator o
WHERE o.oid >= {USERS_FROM} AND o.oprname::text = ANY ({{names}}) AND (
  o.oprleft BETWEEN 1 AND {USERS_FROM - 1} OR o.oprright BETWEEN 1 AND {USERS_FROM - 1}
  OR o.oprleft = ANY ({{oids}}) OR o.oprright = ANY ({{oids}})
  OR NOT EXISTS (SELECT FROM pg_operator s WHERE s.oid < {USERS_FROM} AND s.oprname = o.oprname))
"""
#: Casts of types that are reached; those among the server's own types where a text was read.
CASTS = f"""
SELECT 'the cast from ' || castsource::regtype || ' to ' || casttarget::regtype, 'function',
  castfunc
FROM pg_cast WHERE oid >= {USERS_FROM} AND castfunc <> 0
  AND (castsource < {USERS_FROM} OR castsource = ANY ({{oids}}))
  AND (casttarget < {USERS_FROM} OR casttarget = ANY ({{oids}}))
  AND ({{all}} OR castsource >= {USERS_FROM} OR casttarget >= {USERS_FROM})
"""
_OF_FUNCTIONS = """
SELECT 'function ' || p.oid::regprocedure, 'type', t::text FROM pg_proc p, unnest(
  proargtypes::oid[] || coalesce(proallargtypes, '{{}}'::oid[]) || prorettype) t
  WHERE p.oid = ANY ({oids})
UNION ALL SELECT 'function ' || oid::regprocedure, 'tree', proargdefaults::text FROM pg_proc
  WHERE oid = ANY ({oids}) AND proargdefaults IS NOT NULL
UNION ALL SELECT 'aggregate ' || aggfnoid, 'function', f::text FROM pg_aggregate, unnest(ARRAY[
  aggtransfn, aggfinalfn, aggcombinefn, aggserialfn, aggdeserialfn, aggmtransfn, aggminvtransfn,
  aggmfinalfn]::oid[]) f WHERE aggfnoid = ANY ({oids})
UNION ALL SELECT 'aggregate ' || aggfnoid, 'operator', aggsortop::text FROM pg_aggregate
  WHERE aggfnoid = ANY ({oids})
"""
_OF_OPERATORS = """
SELECT 'operator ' || oprname, kind, f::text FROM pg_operator, LATERAL (
  VALUES ('function', oprcode::oid), ('function', oprrest::oid), ('function', oprjoin::oid),
    ('operator', oprcom), ('operator', oprnegate)) v (kind, f) WHERE oid = ANY ({oids})
UNION ALL SELECT 'the operator class of ' || amprocrighttype::regtype, 'function',
  amproc::oid::text FROM pg_amop JOIN pg_amproc ON amprocfamily = amopfamily
  WHERE amopopr = ANY ({oids}) AND amproc >= 16384
"""
_OF_TYPES = """
SELECT 'type ' || oid::regtype, kind, f::text FROM pg_type, LATERAL (
  VALUES ('function', typinput::oid), ('function', typoutput::oid), ('function', typmodin::oid),
    ('type', typbasetype), ('type', typelem)) v (kind, f) WHERE oid = ANY ({oids})
UNION ALL SELECT 'type ' || oid::regtype, 'tree', typdefaultbin::text FROM pg_type
  WHERE oid = ANY ({oids}) AND typdefaultbin IS NOT NULL
UNION ALL SELECT 'type ' || contypid::regtype, 'tree', conbin::text FROM pg_constraint
  WHERE contypid = ANY ({oids}) AND conbin IS NOT NULL
UNION ALL SELECT 'type ' || t.oid::regtype, 'type', atttypid::text FROM pg_type t
  JOIN pg_attribute ON attrelid = typrelid AND attnum > 0 AND NOT attisdropped
  WHERE t.oid = ANY ({oids})
UNION ALL SELECT 'type ' || rngtypid::regtype, kind, f::text FROM pg_range r, LATERAL (
  VALUES ('type', rngsubtype), ('function', rngcanonical::oid), ('function', rngsubdiff::oid),
    ('type', rngtypid)) v (kind, f)
  WHERE rngtypid = ANY ({oids}) OR (to_jsonb(r) ->> 'rngmultitypid')::oid = ANY ({oids})
UNION ALL SELECT 'the operator class of ' || opcintype::regtype, 'function', amproc::oid::text
  FROM pg_opclass JOIN pg_amproc ON amprocfamily = opcfamily
  WHERE opcdefault AND opcintype = ANY ({oids}) AND amproc >= 16384
UNION ALL SELECT 'the operator class of ' || opcintype::regtype, 'operator', amopopr::text
  FROM pg_opclass JOIN pg_amop ON amopfamily = opcfamily
  WHERE opcdefault AND opcintype = ANY ({oids})
"""
#: What reading a table or a view calls.
_OF_RELATIONS = """
SELECT 'foreign', 'foreign', oid::regclass::text FROM pg_class
  WHERE oid = ANY ({oids}) AND relkind = 'f'
UNION ALL SELECT 'view ' || ev_class::regclass, 'tree', ev_action::text || ev_qual::text
  FROM pg_rewrite JOIN pg_class c ON c.oid = ev_class
  WHERE ev_class = ANY ({oids}) AND relkind <> 'm'
UNION ALL SELECT 'table ' || inhparent::regclass, 'relation', inhrelid::text FROM pg_inherits
  WHERE inhparent = ANY ({oids})
UNION ALL SELECT 'table ' || attrelid::regclass, 'type', atttypid::text FROM pg_attribute
  WHERE attrelid = ANY ({oids}) AND attnum > 0 AND NOT attisdropped
UNION ALL SELECT 'a default of ' || adrelid::regclass, 'tree', adbin::text FROM pg_attrdef
  JOIN pg_attribute a ON attrelid = adrelid AND attnum = adnum WHERE adrelid = ANY ({oids})
    AND ({writes} OR coalesce(to_jsonb(a) ->> 'attgenerated', '') <> '')
UNION ALL SELECT 'constraint ' || conname, 'tree', conbin::text FROM pg_constraint
  WHERE conrelid = ANY ({oids}) AND conbin IS NOT NULL
UNION ALL SELECT 'constraint ' || conname, 'operator', o::text FROM pg_constraint,
  unnest(conexclop) o WHERE conrelid = ANY ({oids})
UNION ALL SELECT 'index ' || indexrelid::regclass, 'tree', concat(indexprs::text, indpred::text)
  FROM pg_index WHERE indrelid = ANY ({oids}) AND concat(indexprs::text, indpred::text) <> ''
UNION ALL SELECT 'index ' || indexrelid::regclass, 'function', amproc::oid::text
  FROM pg_index JOIN pg_opclass c ON c.oid = ANY (indclass::oid[])
  JOIN pg_amproc ON amprocfamily = opcfamily WHERE indrelid = ANY ({oids}) AND amproc >= 16384
UNION ALL SELECT 'policy ' || polname, 'tree', concat(polqual::text, polwithcheck::text)
  FROM pg_policy WHERE polrelid = ANY ({oids})
UNION ALL SELECT 'the partitions of ' || partrelid::regclass, 'tree', partexprs::text
  FROM pg_partitioned_table WHERE partrelid = ANY ({oids}) AND partexprs IS NOT NULL
UNION ALL SELECT 'the partitions of ' || partrelid::regclass, 'function', amproc::oid::text
  FROM pg_partitioned_table JOIN pg_opclass c ON c.oid = ANY (partclass::oid[])
  JOIN pg_amproc ON amprocfamily = opcfamily WHERE partrelid = ANY ({oids}) AND amproc >= 16384
"""
#: What writing to a table calls.
_OF_WRITES = """
SELECT 'trigger ' || tgname || ' of ' || tgrelid::regclass, 'function', tgfoid::text
  FROM pg_trigger WHERE {writes} AND tgrelid = ANY ({oids}) AND tgenabled <> 'D'
    AND (tgfoid >= 16384 OR NOT tgisinternal)
UNION ALL SELECT 'trigger ' || tgname || ' of ' || tgrelid::regclass, 'tree', tgqual::text
  FROM pg_trigger WHERE {writes} AND tgrelid = ANY ({oids}) AND tgqual IS NOT NULL
UNION ALL SELECT 'constraint ' || conname, 'relation', r::text FROM pg_constraint,
  unnest(ARRAY[conrelid, confrelid]) r
  WHERE {writes} AND contype = 'f' AND (conrelid = ANY ({oids}) OR confrelid = ANY ({oids}))
UNION ALL SELECT 'constraint ' || conname, 'operator', o::text FROM pg_constraint,
  unnest(conpfeqop || conppeqop || conffeqop) o
  WHERE {writes} AND contype = 'f' AND (conrelid = ANY ({oids}) OR confrelid = ANY ({oids}))
"""
EDGES = {
    "function": (_OF_FUNCTIONS,),
    "operator": (_OF_OPERATORS,),
    "type": (_OF_TYPES,),
    "relation": (_OF_RELATIONS, _OF_WRITES),
}
