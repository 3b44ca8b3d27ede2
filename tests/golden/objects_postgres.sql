CREATE EXTENSION btree_gist;
CREATE EXTENSION citext;
CREATE EXTENSION cube;
CREATE EXTENSION earthdistance;
CREATE EXTENSION fuzzystrmatch;
CREATE EXTENSION hstore;
CREATE EXTENSION intarray;
CREATE EXTENSION ltree;
CREATE EXTENSION pg_trgm;
CREATE EXTENSION pgcrypto;
CREATE EXTENSION tablefunc;
CREATE EXTENSION unaccent;
CREATE EXTENSION "uuid-ossp";
CREATE SCHEMA shop;
CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL CHECK (length(name) < 100), attributes jsonb NOT NULL DEFAULT '{"a": 1}');
INSERT INTO customers SELECT i, 'customer ' || i FROM generate_series(1, 20) i;
CREATE INDEX ON customers USING gin (name gin_trgm_ops);
CREATE INDEX ON customers (lower(name)) WHERE id > 3;
CREATE TABLE orders (id int PRIMARY KEY, customer int REFERENCES customers ON DELETE CASCADE, amount numeric, note text DEFAULT 'none', placed timestamptz NOT NULL DEFAULT now());
INSERT INTO orders SELECT i, i % 9 + 1, i % 50, repeat('x', i % 7) FROM generate_series(1, 500) i;
CREATE INDEX ON orders (customer);
CREATE TABLE nodes (id int PRIMARY KEY, parent int REFERENCES nodes ON DELETE CASCADE, name text);
INSERT INTO nodes VALUES (1, NULL, 'root'), (2, 1, 'branch'), (3, 2, 'leaf');
CREATE TABLE numbered (id serial PRIMARY KEY, kept int GENERATED ALWAYS AS IDENTITY, note text);
CREATE TABLE generated (n int, doubled int GENERATED ALWAYS AS (n * 2) STORED);
INSERT INTO generated VALUES (1), (2);
CREATE TABLE measures (at date NOT NULL, value float8) PARTITION BY RANGE (at);
CREATE TABLE measures_january PARTITION OF measures FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE measures_february PARTITION OF measures FOR VALUES FROM ('2024-02-01') TO ('2024-03-01');
INSERT INTO measures SELECT date '2024-01-01' + i, i FROM generate_series(0, 50) i;
CREATE TYPE level AS ENUM ('low', 'high');
CREATE DOMAIN mail AS text CHECK (VALUE LIKE '%@%');
CREATE TYPE span AS RANGE (subtype = int);
CREATE TYPE pair AS (a int, b int);
CREATE TABLE typed (level level, colour varchar(10), mail mail, span span);
INSERT INTO typed VALUES ('high', 'blue', 'a@example', '[1,9]');
CREATE TABLE mails (id uuid DEFAULT uuid_generate_v4(), address citext);
CREATE UNIQUE INDEX ON mails (address);
CREATE TABLE shapes (place box, EXCLUDE USING gist (place WITH &&));
CREATE FUNCTION doubled(n int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 * 2';
CREATE FUNCTION twice_doubled(n int) RETURNS int LANGUAGE sql AS 'SELECT doubled(doubled(n))';
CREATE FUNCTION total_of(c int) RETURNS numeric LANGUAGE sql STABLE AS 'SELECT coalesce(sum(amount), 0) FROM orders WHERE customer = c';
CREATE FUNCTION orders_of(c int) RETURNS SETOF orders LANGUAGE sql STABLE AS 'SELECT * FROM orders o WHERE o.customer = c ORDER BY o.id';
CREATE FUNCTION orders_of_atomic(c int) RETURNS SETOF orders LANGUAGE sql STABLE BEGIN ATOMIC; SELECT * FROM orders o WHERE o.customer = c; END;
CREATE FUNCTION named_pairs() RETURNS TABLE (a int, b text) LANGUAGE sql AS 'SELECT id, name FROM customers';
CREATE FUNCTION joined(VARIADIC parts text[]) RETURNS text LANGUAGE sql AS $$ SELECT array_to_string(parts, '-') $$;
CREATE FUNCTION with_default(a int, b int DEFAULT doubled(2)) RETURNS int LANGUAGE sql AS 'SELECT a + b';
CREATE FUNCTION larger(a anyelement, b anyelement) RETURNS anyelement LANGUAGE sql AS 'SELECT CASE WHEN a > b THEN a ELSE b END';
CREATE FUNCTION lo_export(int) RETURNS int LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION setval(int, int, int, int) RETURNS int LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION pg_read_file(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE FUNCTION dblink_exec(int) RETURNS int LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION shop.dblink_exec(int) RETURNS int LANGUAGE sql AS 'SELECT public.dblink_exec($1)';
CREATE FUNCTION label(n int) RETURNS text LANGUAGE plpgsql SET search_path = public AS $$
DECLARE result text := 'small';
BEGIN
  -- a comment with EXECUTE in it
  IF n > 20 THEN result := 'large'; ELSIF n > 10 THEN result := 'medium'; ELSE NULL; END IF;
  RETURN result || CASE WHEN n % 2 = 0 THEN ' even' ELSE ' odd' END;
END $$;
CREATE FUNCTION fibonacci(n int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN IF n < 2 THEN RETURN n; END IF; RETURN fibonacci(n - 1) + fibonacci(n - 2); END $$;
CREATE FUNCTION sum_to(n int) RETURNS int LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE total int := 0; i int;
BEGIN FOR i IN 1..n LOOP total := total + i; CONTINUE WHEN i = 3; END LOOP; RETURN total; END $$;
CREATE FUNCTION first_order(c int) RETURNS orders LANGUAGE plpgsql AS $$
DECLARE found orders%ROWTYPE;
BEGIN SELECT * INTO found FROM orders o WHERE o.customer = c ORDER BY o.id LIMIT 1; RETURN found; END $$;
CREATE FUNCTION safe_divide(a int, b int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN RETURN a / b; EXCEPTION WHEN division_by_zero THEN RAISE NOTICE 'none'; RETURN NULL; END $$;
CREATE FUNCTION name_of(c int) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE name_found customers.name%TYPE;
BEGIN
  PERFORM 1 FROM customers WHERE customers.id = c;
  IF NOT FOUND THEN RETURN NULL; END IF;
  SELECT upper(cu.name) INTO STRICT name_found FROM customers AS cu WHERE cu.id = c;
  RETURN name_found;
END $$;
CREATE FUNCTION loops(n int) RETURNS SETOF int LANGUAGE plpgsql AS $$
DECLARE r record; values_of int[] := ARRAY[1, 2];
BEGIN
  <<outer>>
  FOR r IN SELECT o.id FROM orders o WHERE o.id <= n LOOP RETURN NEXT r.id; EXIT outer WHEN r.id > 3; END LOOP;
  values_of[1] := 5;
  RETURN QUERY SELECT unnest(values_of);
END $$;
CREATE FUNCTION cursor_sum() RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE c CURSOR FOR SELECT amount FROM orders; a numeric; total numeric := 0;
BEGIN OPEN c; LOOP FETCH c INTO a; EXIT WHEN NOT FOUND; total := total + a; END LOOP; CLOSE c; RETURN total; END $$;
CREATE FUNCTION case_of(n int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN CASE n WHEN 1 THEN RETURN 'one'; WHEN 2 THEN RETURN 'two'; ELSE RETURN 'many'; END CASE; END $$;
CREATE FUNCTION add_order(c int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE made int;
BEGIN INSERT INTO orders (id, customer, amount) VALUES (300000, c, 1) RETURNING id INTO made; RETURN made; END $$;
CREATE AGGREGATE product(int) (sfunc = int4mul, stype = int, initcond = '1');
CREATE FUNCTION added(numeric, numeric) RETURNS numeric LANGUAGE sql AS 'SELECT $1 + $2';
CREATE OPERATOR |+| (leftarg = numeric, rightarg = numeric, function = added);
CREATE FUNCTION to_pair(int) RETURNS pair LANGUAGE sql AS 'SELECT ROW($1, $1)::pair';
CREATE CAST (int AS pair) WITH FUNCTION to_pair(int);
CREATE VIEW named_orders AS SELECT o.id, o.customer, o.note FROM orders o;
CREATE VIEW totals AS SELECT customer, sum(amount) AS total, count(*) AS n FROM orders GROUP BY customer;
CREATE VIEW top_customers AS SELECT c.name, t.total FROM totals t JOIN customers c ON c.id = t.customer ORDER BY t.total DESC LIMIT 3;
CREATE VIEW doubled_orders AS SELECT id, doubled(id) AS twice, label(customer) FROM named_orders;
CREATE MATERIALIZED VIEW kept_totals AS SELECT * FROM totals;
CREATE TABLE filtered (id int, owner name DEFAULT current_user);
INSERT INTO filtered SELECT i FROM generate_series(1, 20) i;
ALTER TABLE filtered ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON filtered USING (owner = current_user AND doubled(id) > 2);
CREATE TABLE secrets (note text);
CREATE VIEW secret_notes WITH (security_barrier) AS SELECT encode(digest(note, 'sha1'), 'hex') FROM secrets;
CREATE TABLE counted (n int);
CREATE TABLE counts (n bigint);
CREATE RULE also AS ON INSERT TO counted DO ALSO INSERT INTO counts VALUES (1);
CREATE TABLE watched (n int);
CREATE TABLE history (at timestamptz DEFAULT clock_timestamp(), what text, n int, number bigserial);
INSERT INTO watched VALUES (1), (2);
CREATE FUNCTION keep_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    INSERT INTO history (what, n) VALUES (TG_OP, OLD.n);
    RETURN OLD;
  END IF;
  INSERT INTO history (what, n) VALUES (TG_OP, NEW.n);
  NEW.n := doubled(NEW.n);
  PERFORM pg_notify('changes', NEW.n::text);
  RETURN NEW;
END $$;
CREATE TRIGGER kept BEFORE INSERT OR UPDATE OR DELETE ON watched FOR EACH ROW EXECUTE FUNCTION keep_history();
