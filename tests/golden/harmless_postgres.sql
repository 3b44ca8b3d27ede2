SELECT 1
VALUES (1), (2), (3)
TABLE customers
SELECT 1 + 2 * 3 - 4 / 2 % 3
SELECT -5, +5, @ (-5), |/ 16.0, ||/ 27.0, 5 & 3, 5 | 3, 5 # 3, ~5, 1 << 3, 8 >> 1
SELECT abs(-3), ceil(1.5), floor(1.5), round(2.5), trunc(2.7), sign(-2), sqrt(2), power(2, 3)
SELECT exp(1), ln(2), log(10), sin(0), cos(0), tan(0), pi(), degrees(1), radians(180), mod(7, 3)
SELECT greatest(1, 2), least(1, 2), coalesce(NULL, 3), nullif(1, 2)
SELECT random() < 2, setseed(0.5)
SELECT length('abc'), upper('abc'), lower('ABC'), initcap('abc def'), reverse('abc')
SELECT substring('abcdef' FROM 2 FOR 3), trim(both ' ' FROM ' x '), position('b' IN 'abc'), overlay('abc' PLACING 'x' FROM 2)
SELECT 'a' || 'b', 'a' || 1, concat('a', 1, NULL), concat_ws(',', 'a', 'b'), format('%s-%I', 'x', 'y')
SELECT lpad('x', 5, '-'), rpad('x', 5), repeat('ab', 3), replace('abc', 'b', 'x'), split_part('a,b', ',', 2)
SELECT regexp_replace('abc', 'b', 'x'), regexp_matches('abc', 'b'), 'abc' ~ 'b', 'abc' ~* 'B', 'abc' !~ 'z'
SELECT 'abc' LIKE 'a%', 'abc' ILIKE 'A%', 'abc' NOT LIKE 'z%', 'abc' SIMILAR TO '(a|b)%', 'a_c' LIKE 'a!_c' ESCAPE '!'
SELECT md5('x'), sha256('x'::bytea), encode('x'::bytea, 'hex'), decode('78', 'hex'), ascii('x'), chr(65)
SELECT string_to_array('a,b,c', ','), array_to_string(ARRAY['a', 'b'], ','), to_char(now(), 'YYYY-MM-DD')
SELECT now() > now() - interval '1 day', current_date, current_time IS NOT NULL, localtimestamp IS NOT NULL
SELECT date_trunc('month', now()), extract(year FROM now()), date_part('day', now()), age(now(), now() - interval '1 year')
SELECT make_date(2024, 1, 2), make_interval(days => 3), to_date('2024-01-02', 'YYYY-MM-DD'), to_timestamp(0)
SELECT clock_timestamp() IS NOT NULL, statement_timestamp() IS NOT NULL, transaction_timestamp() IS NOT NULL, timeofday() IS NOT NULL
SELECT timestamp '2024-01-01' AT TIME ZONE 'UTC', (date '2024-01-01', date '2024-02-01') OVERLAPS (date '2024-01-15', date '2024-03-01')
SELECT generate_series(1, 10)
SELECT * FROM generate_series(1, 10, 3) AS g (n)
SELECT * FROM generate_series(timestamp '2024-01-01', timestamp '2024-01-03', interval '1 day') d
SELECT * FROM unnest(ARRAY[1, 2], ARRAY['a', 'b']) WITH ORDINALITY AS u (a, b, n)
SELECT ARRAY[1, 2, 3] @> ARRAY[2], ARRAY[1] || 2, array_length(ARRAY[1, 2], 1), cardinality(ARRAY[1, 2]), 2 = ANY (ARRAY[1, 2])
SELECT array_agg(id ORDER BY id DESC) FROM orders WHERE id < 10
SELECT array_position(ARRAY[1, 2, 3], 2), array_remove(ARRAY[1, 2], 2), array_append(ARRAY[1], 2), array_cat(ARRAY[1], ARRAY[2])
SELECT json_build_object('a', 1, 'b', ARRAY[1, 2]), jsonb_build_array(1, 'x'), to_jsonb(ROW(1, 'x')), row_to_json(c) FROM customers c
SELECT attributes -> 'a', attributes ->> 'a', attributes #> '{a,b}', attributes ? 'a', attributes ?| ARRAY['a'], attributes @> '{"a": 1}' FROM customers
SELECT jsonb_set(attributes, '{a}', '2'), attributes - 'a', attributes || '{"z": 1}', jsonb_pretty(attributes) FROM customers
SELECT key, value FROM customers, jsonb_each_text(attributes)
SELECT jsonb_path_query(attributes, '$.a'), attributes @? '$.a', attributes['a'] FROM customers
SELECT jsonb_agg(name), json_agg(c), jsonb_object_agg(id, name), string_agg(name, ',' ORDER BY name) FROM customers c
SELECT xmlelement(name a, 'x'), xmlforest(1 AS a)
SELECT to_tsvector('english', 'the quick fox') @@ to_tsquery('english', 'fox'), ts_rank(to_tsvector('a b'), plainto_tsquery('a'))
SELECT int4range(1, 5) && int4range(3, 8), lower(int4range(1, 5)), upper(int4range(1, 5)), '[1,3]'::int4range @> 2
SELECT point(1, 2) <-> point(3, 4), box '((0,0),(1,1))' @> point '(0.5,0.5)', circle '((0,0),1)' && circle '((1,0),1)'
SELECT inet '10.0.0.1' << inet '10.0.0.0/8', host('10.0.0.1'), masklen('10.0.0.0/8'), cidr '10.0.0.0/8', macaddr '08:00:2b:01:02:03'
SELECT gen_random_uuid() IS NOT NULL, '00000000-0000-0000-0000-000000000000'::uuid
SELECT B'101' & B'110', '\x0102'::bytea || '\x03', get_byte('\x0102', 0), bit_count(B'101')
SELECT CAST('1' AS int), '1'::numeric(5, 2), 1::text, 'x'::varchar(10), 'yes'::boolean, '1 day'::interval, 1.5::float8::int
SELECT CASE WHEN 1 > 0 THEN 'a' ELSE 'b' END, CASE 1 WHEN 1 THEN 2 END, 1 IS DISTINCT FROM 2, NULL IS NULL, 1 BETWEEN 0 AND 2
SELECT (1, 2) < (1, 3), ROW(1, 'a') = ROW(1, 'a'), (1, 2) IN ((1, 2), (3, 4))
SELECT current_user, session_user, current_database(), current_schema(), version(), pg_backend_pid()
SELECT current_setting('work_mem'), pg_size_pretty(1000::bigint), pg_relation_size('orders'), pg_total_relation_size('orders'), pg_database_size(current_database())
SELECT pg_typeof(1), pg_column_size('x'::text), pg_get_viewdef('named_orders'::regclass), obj_description('orders'::regclass)
SELECT has_table_privilege('orders', 'SELECT'), to_regclass('orders'), 'orders'::regclass::oid > 0, format_type(23, NULL)
SELECT count(*) FROM pg_stat_activity
SELECT relname, n_live_tup FROM pg_stat_user_tables
SELECT * FROM pg_locks
SELECT * FROM pg_indexes WHERE tablename = 'orders'
SELECT * FROM pg_settings WHERE name = 'work_mem'
SELECT * FROM information_schema.columns WHERE table_name = 'orders'
SELECT relname, relkind FROM pg_class ORDER BY relname LIMIT 5
SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = 'doubled'
SELECT pg_is_in_recovery(), pg_current_wal_lsn() IS NOT NULL, txid_current_if_assigned()
SELECT * FROM orders WHERE id = 7
SELECT * FROM orders WHERE customer = 3 ORDER BY id LIMIT 5
SELECT * FROM orders WHERE id IN (1, 2, 3) AND note IS NOT NULL
SELECT * FROM orders WHERE note LIKE 'x%' OR customer BETWEEN 1 AND 2
SELECT count(*), sum(amount), avg(amount), min(id), max(id), stddev(amount), variance(amount) FROM orders
SELECT customer, count(*) FROM orders GROUP BY customer HAVING count(*) > 5 ORDER BY 2 DESC, 1
SELECT customer, placed::date, sum(amount) FROM orders GROUP BY ROLLUP (customer, placed::date)
SELECT customer, sum(amount) FROM orders GROUP BY GROUPING SETS ((customer), ())
SELECT count(*) FILTER (WHERE amount > 10), count(DISTINCT customer), bool_and(id > 0), every(id > 0) FROM orders
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY amount), mode() WITHIN GROUP (ORDER BY customer) FROM orders
SELECT corr(id, amount), regr_slope(id, amount), bit_or(id), covar_pop(id, amount) FROM orders
SELECT DISTINCT customer FROM orders
SELECT DISTINCT ON (customer) customer, id FROM orders ORDER BY customer, id DESC
SELECT row_number() OVER (ORDER BY id), rank() OVER w, dense_rank() OVER w, ntile(4) OVER w FROM orders WINDOW w AS (PARTITION BY customer ORDER BY amount)
SELECT lag(amount) OVER w, lead(amount, 2, 0) OVER w, first_value(id) OVER w, sum(amount) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM orders WINDOW w AS (ORDER BY id)
SELECT sum(amount) OVER (ORDER BY placed RANGE BETWEEN interval '1 day' PRECEDING AND CURRENT ROW) FROM orders
SELECT o.id, c.name FROM orders o JOIN customers c ON c.id = o.customer WHERE c.name = 'customer 3'
SELECT c.name, count(o.id) FROM customers c LEFT JOIN orders o ON o.customer = c.id GROUP BY c.name
SELECT * FROM orders o CROSS JOIN LATERAL (SELECT name FROM customers c WHERE c.id = o.customer) l LIMIT 3
SELECT * FROM orders a JOIN orders b USING (id) WHERE a.id < 5
SELECT * FROM orders NATURAL JOIN (SELECT 1 AS id) one
SELECT * FROM customers WHERE EXISTS (SELECT 1 FROM orders WHERE customer = customers.id)
SELECT * FROM customers WHERE id NOT IN (SELECT customer FROM orders WHERE customer IS NOT NULL)
SELECT * FROM orders WHERE amount > ALL (SELECT amount FROM orders WHERE customer = 3 AND amount < 5)
SELECT (SELECT max(id) FROM orders), ARRAY(SELECT id FROM customers ORDER BY id)
SELECT id FROM orders WHERE id < 3 UNION SELECT id FROM customers UNION ALL VALUES (1)
SELECT id FROM orders INTERSECT SELECT id FROM customers
SELECT id FROM customers EXCEPT SELECT customer FROM orders
SELECT * FROM orders ORDER BY note COLLATE "C" NULLS FIRST, id DESC OFFSET 5 FETCH NEXT 3 ROWS ONLY
SELECT * FROM orders TABLESAMPLE BERNOULLI (10)
SELECT * FROM orders TABLESAMPLE SYSTEM (10) REPEATABLE (1)
SELECT * FROM ONLY orders WHERE id = 1
SELECT tableoid::regclass, ctid, xmin FROM orders LIMIT 1
SELECT o FROM orders o WHERE id = 1
SELECT (o).id, (o).note FROM (SELECT orders AS o FROM orders) s LIMIT 1
WITH recent AS (SELECT * FROM orders WHERE placed > now() - interval '1 year') SELECT count(*) FROM recent
WITH a AS (SELECT 1 AS n), b AS (SELECT n + 1 AS n FROM a) SELECT * FROM a, b
WITH RECURSIVE t (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 10) SELECT sum(n) FROM t
WITH RECURSIVE tree AS (SELECT id, parent, name FROM nodes WHERE parent IS NULL UNION ALL SELECT n.id, n.parent, n.name FROM nodes n JOIN tree ON n.parent = tree.id) SELECT * FROM tree
WITH m AS MATERIALIZED (SELECT * FROM orders) SELECT count(*) FROM m
WITH n AS NOT MATERIALIZED (SELECT * FROM orders) SELECT count(*) FROM n WHERE id = 3
WITH v (a, b) AS (VALUES (1, 'x'), (2, 'y')) SELECT * FROM v WHERE a > 1
SELECT * FROM named_orders WHERE id = 3
SELECT * FROM totals
SELECT * FROM top_customers
SELECT * FROM doubled_orders LIMIT 3
SELECT * FROM kept_totals
SELECT * FROM filtered WHERE id < 10
SELECT count(*) FROM named_orders n JOIN totals t ON t.customer = n.customer
SELECT * FROM measures WHERE at < '2024-02-01'
SELECT sum(value) FROM measures
SELECT * FROM measures_january
SELECT * FROM secret_notes
SELECT * FROM typed
SELECT * FROM typed WHERE level = 'high' AND span && '[1,2]'
SELECT colour, length(mail) FROM typed WHERE mail LIKE '%@%'
SELECT * FROM generated WHERE doubled = 4
SELECT doubled(3)
SELECT doubled(id) FROM orders WHERE id < 5
SELECT * FROM orders WHERE doubled(id) = 10
SELECT total_of(3)
SELECT name, total_of(id) FROM customers
SELECT * FROM orders_of(3)
SELECT count(*) FROM orders_of(3) JOIN customers c ON c.id = customer
SELECT * FROM orders_of_atomic(3)
SELECT twice_doubled(4)
SELECT label(3), label(30)
SELECT label(id) FROM customers ORDER BY 1
SELECT fibonacci(10)
SELECT sum_to(10)
SELECT first_order(3)
SELECT safe_divide(1, 0), safe_divide(4, 2)
SELECT name_of(3)
SELECT name_of(c.id) FROM customers c WHERE c.id < 4
SELECT joined('a', 'b', 'c')
SELECT with_default(1), with_default(1, 5), with_default(b => 3, a => 1)
SELECT larger(1, 2), larger('a'::text, 'b'::text)
SELECT * FROM named_pairs()
SELECT loops(5)
SELECT cursor_sum()
SELECT case_of(2)
SELECT lo_export(7)
SELECT setval(1, 2, 3, 4)
SELECT pg_read_file(1)
SELECT dblink_exec(1)
SELECT shop.dblink_exec(1)
SELECT product(id) FROM customers WHERE id < 5
SELECT 3 |+| 4
SELECT customer FROM orders WHERE amount |+| 1 > 5
SELECT (ROW(1, 2)::pair).a, ROW(1, 2)::pair::text
SELECT 7::pair
SELECT hstore('a', '1') -> 'a', 'a=>1'::hstore ? 'a', akeys('a=>1')
SELECT hstore(o) FROM orders o LIMIT 1
SELECT similarity('abc', 'abd'), 'abc' % 'abd', show_trgm('abc')
SELECT * FROM customers WHERE name ILIKE '%mer 3%'
SELECT name::citext = 'CUSTOMER 3' FROM customers
SELECT levenshtein('abc', 'abd'), soundex('abc'), metaphone('abc', 4)
SELECT uuid_generate_v4() IS NOT NULL, uuid_nil()
SELECT digest('x', 'sha256'), crypt('x', gen_salt('md5')) IS NOT NULL, encode(hmac('x', 'k', 'sha1'), 'hex')
SELECT 'a.b.c'::ltree @> 'a.b.c.d'::ltree, nlevel('a.b'), subpath('a.b.c', 1)
SELECT ARRAY[1, 2] & ARRAY[2, 3], sort(ARRAY[3, 1]), uniq(ARRAY[1, 1]), idx(ARRAY[5, 6], 6)
SELECT cube(1, 2) <-> cube(3, 4), '(1,2)'::cube @> '(1,2)'::cube
SELECT unaccent('x'), earth_distance(ll_to_earth(0, 0), ll_to_earth(1, 1)) > 0
SELECT count(*) FROM normal_rand(5, 0, 1)
SELECT * FROM mails WHERE address = 'A@B.example'
SELECT * FROM shapes WHERE place && '(0,0),(2,2)'
SELECT a ->> 'k' FROM (SELECT '{"k": "v"}'::json AS a) s
SELECT grouping(customer), customer, count(*) FROM orders GROUP BY CUBE (customer)
SELECT pg_sleep(0)
!INSERT INTO orders (id, customer, amount, note) VALUES (100001, 1, 5, 'new')
!INSERT INTO orders (id, customer, amount) SELECT id + 200000, customer, amount FROM orders WHERE id < 10
!INSERT INTO orders (id, customer, amount) VALUES (7, 1, 5) ON CONFLICT (id) DO UPDATE SET amount = excluded.amount
!INSERT INTO orders (id, customer, amount) VALUES (7, 1, 5) ON CONFLICT DO NOTHING
!INSERT INTO customers (id, name) VALUES (1001, 'new') RETURNING id, upper(name)
!INSERT INTO numbered (note) VALUES ('x') RETURNING id
!INSERT INTO nodes VALUES (99, 1, 'leaf')
!INSERT INTO typed (level, colour, mail, span) VALUES ('low', 'red', 'x@example', '[1,5]')
!INSERT INTO generated (n) VALUES (7)
!INSERT INTO measures VALUES ('2024-01-15', 1), ('2024-02-15', 2)
!INSERT INTO mails VALUES (DEFAULT, 'x@example')
!UPDATE orders SET note = 'y' WHERE id = 3
!UPDATE orders SET amount = amount * 2 WHERE customer = 3 RETURNING id, amount
!UPDATE orders o SET note = c.name FROM customers c WHERE c.id = o.customer AND o.id < 10
!UPDATE orders SET amount = doubled(id) WHERE id < 10
!UPDATE customers SET name = label(id) WHERE id = 3
!UPDATE customers SET attributes = jsonb_set(attributes, '{a}', '5') WHERE id < 5
!UPDATE named_orders SET note = 'z' WHERE id = 4
!UPDATE measures SET at = '2024-02-03' WHERE at = '2024-01-03'
!UPDATE nodes SET name = upper(name)
!UPDATE generated SET n = n + 1
!DELETE FROM orders WHERE id = 5
!DELETE FROM orders USING customers c WHERE c.id = customer AND c.name = 'customer 3'
!DELETE FROM customers WHERE id = 9
!DELETE FROM nodes WHERE id = 1
!DELETE FROM measures
!DELETE FROM numbered RETURNING *
!WITH gone AS (DELETE FROM orders WHERE id < 5 RETURNING *) SELECT count(*) FROM gone
!WITH moved AS (UPDATE orders SET customer = 4 WHERE customer = 3 RETURNING id) INSERT INTO numbered (note) SELECT 'order ' || id FROM moved
!WITH one AS (SELECT 1 AS id) UPDATE orders SET note = 'w' FROM one WHERE orders.id = one.id
!SELECT * FROM orders WHERE id = 3 FOR UPDATE
!SELECT count(*) FROM orders
!SELECT add_order(3)
!SELECT total_of(3)
!INSERT INTO counted VALUES (1)
!UPDATE watched SET n = n + 1
!DELETE FROM watched WHERE n = 1
!INSERT INTO watched VALUES (5), (6)
!MERGE INTO orders o USING customers c ON c.id = o.id WHEN MATCHED THEN UPDATE SET note = c.name WHEN NOT MATCHED THEN DO NOTHING
