"""Two hundred statements for MySQL and MariaDB that change nothing, or what a rollback undoes, over
objects as applications have them; `True` where the statement writes.
"""

from __future__ import annotations

OBJECTS = (
    "CREATE TABLE customers (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(40), city VARCHAR(40),"
    " joined DATETIME DEFAULT CURRENT_TIMESTAMP, KEY (city)) ENGINE=InnoDB",
    "CREATE TABLE orders (id INT PRIMARY KEY, customer INT, total DECIMAL(10,2), status VARCHAR(9),"
    " placed DATE, year_placed INT AS (YEAR(placed)) STORED, CHECK (total >= 0),"
    " FOREIGN KEY (customer) REFERENCES customers (id) ON DELETE CASCADE) ENGINE=InnoDB",
    "CREATE TABLE items (id INT PRIMARY KEY, order_id INT, data LONGTEXT, FOREIGN KEY (order_id)"
    " REFERENCES orders (id) ON DELETE CASCADE ON UPDATE CASCADE) ENGINE=InnoDB",
    "CREATE TABLE history (id INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(90), at DATETIME)"
    " ENGINE=InnoDB PARTITION BY HASH (id) PARTITIONS 3",
    "CREATE TABLE sums (customer INT PRIMARY KEY, n INT, total DECIMAL(12,2)) ENGINE=InnoDB",
    "CREATE TABLE words (id INT PRIMARY KEY, text VARCHAR(200), FULLTEXT (text)) ENGINE=MyISAM",
    "INSERT INTO customers (id, name, city) VALUES (1, 'Ann', 'Oslo'), (2, 'Bo', 'Rome'),"
    " (3, 'Cy', NULL)",
    "INSERT INTO orders (id, customer, total, status, placed) VALUES (1, 1, 10, 'new',"
    " '2026-01-02'), (2, 1, 20, 'paid', '2026-02-03'), (3, 2, 5, 'paid', '2025-03-04')",
    """INSERT INTO items VALUES (1, 1, '{"a": 1}'), (2, 2, '{"a": 2}')""",
    "INSERT INTO words VALUES (1, 'one two'), (2, 'three')",
    "CREATE FUNCTION net(total DECIMAL(10,2)) RETURNS DECIMAL(10,2) DETERMINISTIC"
    " RETURN ROUND(total / 1.25, 2)",
    "CREATE FUNCTION label(n INT) RETURNS VARCHAR(20) DETERMINISTIC BEGIN DECLARE s VARCHAR(20);"
    " CASE n WHEN 1 THEN SET s = 'one'; ELSE SET s = CONCAT('many ', n); END CASE; RETURN s; END",
    "CREATE FUNCTION spent(who INT) RETURNS DECIMAL(12,2) READS SQL DATA BEGIN DECLARE t"
    " DECIMAL(12,2); SELECT SUM(net(total)) INTO t FROM orders WHERE customer = who;"
    " RETURN IFNULL(t, 0); END",
    "CREATE FUNCTION fib(n INT) RETURNS INT DETERMINISTIC BEGIN DECLARE a, b, c INT DEFAULT 1;"
    " WHILE n > 2 DO SET c = a + b, a = b, b = c, n = n - 1; END WHILE; RETURN b; END",
    "CREATE FUNCTION all_names() RETURNS TEXT READS SQL DATA BEGIN DECLARE done INT DEFAULT 0;"
    " DECLARE one VARCHAR(40); DECLARE found TEXT DEFAULT ''; DECLARE c CURSOR FOR"
    " SELECT name FROM customers ORDER BY id; DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1;"
    " OPEN c; each_one: LOOP FETCH c INTO one; IF done THEN LEAVE each_one; END IF;"
    " SET found = CONCAT(found, one); END LOOP; CLOSE c; RETURN found; END",
    "CREATE VIEW paid AS SELECT o.*, c.name FROM orders o JOIN customers c ON c.id = o.customer"
    " WHERE o.status = 'paid'",
    "CREATE VIEW totals AS SELECT customer, COUNT(*) AS n, SUM(net(total)) AS total FROM paid"
    " GROUP BY customer",
    "CREATE VIEW labelled AS SELECT label(n) AS said, total FROM totals",
    "CREATE VIEW in_oslo AS SELECT id, name, city FROM customers WHERE city = 'Oslo'",
    "CREATE PROCEDURE add_up(who INT) BEGIN REPLACE INTO sums SELECT customer, COUNT(*), SUM(total)"
    " FROM orders WHERE customer = who GROUP BY customer; END",
    "CREATE TRIGGER noted AFTER UPDATE ON customers FOR EACH ROW"
    " INSERT INTO history (what, at) VALUES (CONCAT('customer ', NEW.id), NOW())",
    "CREATE TRIGGER summed AFTER INSERT ON orders FOR EACH ROW CALL add_up(NEW.customer)",
    "CREATE TRIGGER checked BEFORE INSERT ON orders FOR EACH ROW BEGIN IF NEW.total > 9000 THEN"
    " SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'too much'; END IF;"
    " SET NEW.status = COALESCE(NEW.status, 'new'); END",
)
_CALLS = """
ABS(-id); CEIL(total); FLOOR(total); ROUND(total, 1); TRUNCATE(total, 1); SIGN(id); MOD(id, 2)
POW(id, 2); SQRT(id); EXP(0); LOG(10); LOG2(8); PI(); RAND(3); GREATEST(id, customer)
LEAST(id, customer); COALESCE(status, 'x'); IFNULL(status, 'x'); NULLIF(id, 1); IF(id > 1, 'a', 'b')
CASE WHEN id > 1 THEN 'a' ELSE 'b' END; CONCAT(id, status); CONCAT_WS(',', id, status)
UPPER(status); LOWER(status); LENGTH(status); CHAR_LENGTH(status); LEFT(status, 2)
RIGHT(status, 2); SUBSTRING(status, 1, 2); SUBSTRING(status FROM 2); SUBSTRING_INDEX(status, 'a', 1)
TRIM(BOTH 'x' FROM status); LTRIM(status); REPLACE(status, 'a', 'b'); REVERSE(status)
LPAD(id, 5, '0'); INSTR(status, 'a'); LOCATE('a', status); POSITION('a' IN status)
FIND_IN_SET('a', status); FIELD(status, 'new', 'paid'); ELT(1, status); FORMAT(total, 2)
HEX(status); UNHEX('41'); MD5(status); SHA1(status); SHA2(status, 256); CRC32(status)
TO_BASE64(status); ASCII(status); CHAR(65); SOUNDEX(status); STRCMP(status, 'a'); QUOTE(status)
NOW(); CURDATE(); CURRENT_TIMESTAMP; UTC_TIMESTAMP(); UNIX_TIMESTAMP(placed); FROM_UNIXTIME(id)
DATE_FORMAT(placed, '%Y-%m'); STR_TO_DATE('2026', '%Y'); DATE_ADD(placed, INTERVAL 1 DAY)
placed - INTERVAL 3 MONTH; DATEDIFF(NOW(), placed); TIMESTAMPDIFF(MONTH, placed, NOW())
EXTRACT(YEAR FROM placed); YEAR(placed); MONTH(placed); DAYOFWEEK(placed); WEEK(placed, 1)
QUARTER(placed); LAST_DAY(placed); DAYNAME(placed); MAKEDATE(2026, 3); CONVERT(id, CHAR(5))
CAST(total AS SIGNED); CAST(id AS DECIMAL(10,2)); CONVERT(status USING utf8mb4); BIT_COUNT(id)
INET_ATON('1.2.3.4'); UUID(); DATABASE(); USER(); VERSION(); CONNECTION_ID(); LAST_INSERT_ID()
status LIKE 'p%'; status REGEXP '^p'; status IN ('new', 'paid'); id BETWEEN 1 AND 2
net(total); label(id); fib(id + 3); spent(customer); dyno.net(total); label(fib(3)); all_names()
ROW_NUMBER() OVER (PARTITION BY customer ORDER BY placed); RANK() OVER (ORDER BY total)
SUM(total) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
LAG(total, 1) OVER (ORDER BY id); NTILE(2) OVER (ORDER BY id); @n := id
JSON_OBJECT('id', id); JSON_ARRAY(id, total); JSON_EXTRACT('{"a": 1}', '$.a'); JSON_VALID(status)
JSON_UNQUOTE(JSON_EXTRACT('{"a": "b"}', '$.a')); REGEXP_REPLACE(status, 'a', 'b'); SLEEP(0)
ST_AsText(POINT(id, 1)); BENCHMARK(1, 1); ADDDATE(placed, 5); SUBDATE(placed, INTERVAL 2 DAY)
TIME_FORMAT('10:11', '%H'); SEC_TO_TIME(id); TIME_TO_SEC('10:11'); PERIOD_ADD(202601, 2)
TO_DAYS(placed); FROM_DAYS(738000); MICROSECOND(NOW()); CONV(id, 10, 2); BIN(id); OCT(id)
DEGREES(1); ATAN2(1, 2); COT(1); MAKE_SET(1, 'a'); EXPORT_SET(5, 'y', 'n'); INSERT('abc', 1, 1, 'x')
COMPRESS(status); AES_ENCRYPT(status, 'k'); INET6_ATON('::1'); IS_IPV4('1.2.3.4'); CHARSET(status)
FIRST_VALUE(id) OVER (ORDER BY id); id XOR 1; NOT id; id DIV 2; id % 2; id << 1
status COLLATE utf8mb4_bin; BINARY status; INTERVAL(id, 1, 2); EXTRACTVALUE('<a>1</a>', '/a')
"""
_QUERIES = """
SELECT COUNT(*), COUNT(DISTINCT customer), AVG(total), MIN(total), MAX(total) FROM orders
SELECT customer, GROUP_CONCAT(id ORDER BY id SEPARATOR ';') FROM orders GROUP BY customer
SELECT customer, SUM(total) FROM orders GROUP BY customer WITH ROLLUP
SELECT status, STDDEV(total), VARIANCE(total) FROM orders GROUP BY status HAVING COUNT(*) > 0
SELECT JSON_ARRAYAGG(id), JSON_OBJECTAGG(id, total) FROM orders
SELECT * FROM paid
SELECT * FROM totals
SELECT * FROM labelled
SELECT * FROM in_oslo WHERE name LIKE 'A%'
SELECT t.total, p.name FROM totals t JOIN paid p USING (customer)
SELECT * FROM customers c LEFT JOIN orders o ON o.customer = c.id WHERE o.id IS NULL
SELECT * FROM customers, orders WHERE customers.id = orders.customer ORDER BY 1, 2 LIMIT 5 OFFSET 1
SELECT * FROM customers WHERE id IN (SELECT customer FROM orders WHERE total > 1)
SELECT * FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id)
SELECT id FROM orders UNION ALL SELECT id FROM items ORDER BY id
SELECT id FROM orders UNION SELECT id FROM customers
(SELECT id FROM orders LIMIT 1) UNION (SELECT id FROM items LIMIT 1)
WITH big AS (SELECT * FROM orders WHERE total > 5) SELECT COUNT(*) FROM big
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT SUM(i) FROM n
WITH a AS (SELECT * FROM paid), b AS (SELECT id FROM a) SELECT * FROM b JOIN orders USING (id)
SELECT d.n FROM (SELECT COUNT(*) AS n FROM orders GROUP BY customer) AS d
SELECT (SELECT MAX(total) FROM orders o WHERE o.customer = c.id) AS most FROM customers c
SELECT * FROM orders USE INDEX (PRIMARY) WHERE id = 2
SELECT * FROM orders FORCE INDEX (customer) WHERE customer = 1
SELECT SQL_NO_CACHE * FROM orders WHERE id = 1
SELECT STRAIGHT_JOIN * FROM customers JOIN orders ON orders.customer = customers.id
SELECT * FROM words WHERE MATCH (text) AGAINST ('two' IN BOOLEAN MODE)
SELECT * FROM JSON_TABLE('[{"a": 1}]', '$[*]' COLUMNS (a INT PATH '$.a', b CHAR(9) PATH '$.b')) j
SELECT `orders`.`id` FROM `dyno`.`orders` WHERE `orders`.`status` = "paid"
SELECT * FROM orders FOR UPDATE
SELECT * FROM orders WHERE (customer, status) = (1, 'paid')
SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()
SELECT * FROM history PARTITION (p0)
VALUES ROW(1, 2), ROW(3, 4)
"""
_WRITES = """
INSERT INTO customers (name, city) VALUES ('Di', 'Bonn')
INSERT INTO customers VALUES (9, 'Ed', 'Bern', NOW())
INSERT customers (name) VALUES ('Flo'), ('Gil')
INSERT INTO customers SET name = 'Hal', city = 'Lima'
INSERT INTO orders (id, customer, total, placed) VALUES (10, 1, 3, CURDATE())
INSERT INTO orders (id, customer, total) SELECT id + 20, customer, net(total) FROM paid
INSERT INTO sums (customer, n) VALUES (1, 1) ON DUPLICATE KEY UPDATE n = n + VALUES(n)
INSERT IGNORE INTO sums (customer, n) VALUES (1, 1)
REPLACE INTO sums VALUES (1, 2, 3)
REPLACE sums SET customer = 4, n = 1
INSERT INTO in_oslo (id, name, city) VALUES (30, 'Ida', 'Oslo')
UPDATE customers SET city = UPPER(city) WHERE id < 3
UPDATE customers SET name = label(id) ORDER BY id LIMIT 1
UPDATE orders o JOIN customers c ON c.id = o.customer SET o.status = 'sent' WHERE c.city = 'Oslo'
UPDATE orders, customers SET orders.total = 1 WHERE orders.customer = customers.id
UPDATE in_oslo SET name = 'Jo'
UPDATE orders SET total = spent(customer)
UPDATE items SET data = '{}' WHERE order_id IN (SELECT id FROM orders WHERE status = 'paid')
DELETE FROM orders WHERE id = 1
DELETE FROM customers WHERE id = 1
DELETE o FROM orders o JOIN customers c ON c.id = o.customer WHERE c.name = 'Bo'
DELETE FROM o USING orders o WHERE o.status = 'new'
DELETE FROM in_oslo WHERE id = 1
DELETE FROM history ORDER BY id LIMIT 1
INSERT INTO history (what) SELECT CONCAT(name, ' of ', city) FROM customers
"""


def _list_lines(text: str) -> list[str]:
    return [line for line in text.strip().splitlines() if line]


_EACH = [call.strip() for line in _list_lines(_CALLS) for call in line.split("; ")]
HARMLESS: tuple[tuple[str, bool], ...] = (
    *((f"SELECT id, {call} FROM orders", False) for call in _EACH[:141]),
    *((sql, False) for sql in _list_lines(_QUERIES)),
    *((sql, True) for sql in _list_lines(_WRITES)),
)
