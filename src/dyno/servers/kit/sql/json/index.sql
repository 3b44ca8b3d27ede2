-- The part json: an index over what the documents of a column hold. Statements end with $$.
--
-- An index is a table kit.`schema.table.column`: a row for each token of a document (json_tokens) with
-- the primary key of the document's row. Triggers of that table keep it. It may hold tokens that a
-- document has no more (TRUNCATE and foreign keys' cascades call no trigger) and lacks none, so
-- kit.search asks json_holds about each row that the index finds.
--
-- No server lets a procedure make a trigger, so index_json answers statements; dyno kit index-json
-- runs them. While a table is filled its comment says so: it is searched only afterwards. Then the
-- comment names the columns of the primary key, so that a search need not ask for them.

-- As many as json_tokens may answer: 0 to 65535.
CREATE TABLE IF NOT EXISTS kit.place (
  place INT UNSIGNED NOT NULL PRIMARY KEY
) ENGINE=InnoDB COMMENT 'dyno kit json' $$

INSERT IGNORE INTO kit.place VALUES
  (0), (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15) $$

INSERT IGNORE INTO kit.place
  SELECT a.place + 16 * b.place FROM kit.place a JOIN kit.place b WHERE a.place < 16 AND b.place < 16 $$

INSERT IGNORE INTO kit.place
  SELECT a.place + 256 * b.place FROM kit.place a JOIN kit.place b
  WHERE a.place < 256 AND b.place < 256 $$

CREATE PROCEDURE kit.refuse(IN v_why TEXT)
SQL SECURITY INVOKER NO SQL COMMENT 'dyno kit json {version}'
BEGIN
  DECLARE v_text VARCHAR(128);
  SET v_text = LEFT(v_why, 128);
  SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_text;
END $$

-- schema.table.column taken apart; names that would need more than backquotes are refused.
CREATE PROCEDURE kit.parse_column(IN v_column TEXT, OUT v_schema VARCHAR(64), OUT v_table VARCHAR(64),
                                  OUT v_name VARCHAR(64))
SQL SECURITY INVOKER NO SQL COMMENT 'dyno kit json {version}'
BEGIN
  IF v_column IS NULL OR v_column NOT REGEXP '^[^.`''"\\\\]+[.][^.`''"\\\\]+[.][^.`''"\\\\]+$' THEN
    CALL kit.refuse(CONCAT('write schema.table.column, not ', IFNULL(v_column, 'NULL')));
  END IF;
  -- the longest name that is made of it: of a trigger
  IF CHAR_LENGTH(v_column) + CHAR_LENGTH('kit..change') > 64 THEN
    CALL kit.refuse(CONCAT('schema, table and column have over 53 characters: ', v_column));
  END IF;
  SET v_schema = SUBSTRING_INDEX(v_column, '.', 1), v_name = SUBSTRING_INDEX(v_column, '.', -1),
      v_table = SUBSTRING_INDEX(SUBSTRING_INDEX(v_column, '.', 2), '.', -1);
END $$

-- The columns of a table's primary key as a list, each behind v_prefix; empty where it has none.
CREATE PROCEDURE kit.key_of(IN v_schema VARCHAR(64), IN v_table VARCHAR(64), IN v_prefix VARCHAR(8),
                            OUT v_key TEXT)
SQL SECURITY INVOKER READS SQL DATA COMMENT 'dyno kit json {version}'
BEGIN
  DECLARE v_part VARCHAR(64);
  DECLARE v_done INT DEFAULT 0;
  -- A GROUP_CONCAT would be cut off where the session's group_concat_max_len is small.
  DECLARE v_parts CURSOR FOR
    SELECT column_name FROM information_schema.key_column_usage
     WHERE table_schema = v_schema AND table_name = v_table AND constraint_name = 'PRIMARY'
     ORDER BY ordinal_position;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  SET v_key = '';
  OPEN v_parts;
  FETCH v_parts INTO v_part;
  WHILE NOT v_done DO
    SET v_key = CONCAT(v_key, IF(v_key = '', '', ', '), v_prefix, '`', v_part, '`');
    FETCH v_parts INTO v_part;
  END WHILE;
  CLOSE v_parts;
END $$

-- An error where no index can be made over this column, with the cause.
CREATE PROCEDURE kit.check_column(IN v_column TEXT, IN v_schema VARCHAR(64), IN v_table VARCHAR(64),
                                  IN v_name VARCHAR(64))
SQL SECURITY INVOKER READS SQL DATA COMMENT 'dyno kit json {version}'
BEGIN
  DECLARE v_type, v_engine VARCHAR(64);
  DECLARE v_key TEXT;
  SET v_type = (SELECT MAX(data_type) FROM information_schema.columns
                WHERE table_schema = v_schema AND table_name = v_table AND column_name = v_name);
  SET v_engine = (SELECT MAX(engine) FROM information_schema.tables
                  WHERE table_schema = v_schema AND table_name = v_table);
  CALL kit.key_of(v_schema, v_table, '', v_key);
  IF v_type IS NULL THEN
    CALL kit.refuse(CONCAT('no column, or none that you may read: ', v_column));
  ELSEIF v_type NOT IN ('json', 'char', 'varchar', 'tinytext', 'text', 'mediumtext', 'longtext') THEN
    CALL kit.refuse(CONCAT('a column of type ', v_type, ' holds no JSON: ', v_column));
  ELSEIF v_engine IS NULL OR v_engine <> 'InnoDB' THEN
    CALL kit.refuse(CONCAT('not a table of InnoDB but of ', IFNULL(v_engine, 'no engine'), ': ', v_column));
  ELSEIF v_key = '' THEN
    CALL kit.refuse(CONCAT('the table has no primary key: ', v_column));
  ELSEIF v_key NOT REGEXP '^`[^`]+`(, `[^`]+`)*$' THEN
    CALL kit.refuse(CONCAT('its primary key is no list of columns without backticks: ', v_column));
  ELSEIF EXISTS (
    SELECT * FROM information_schema.key_column_usage k
      JOIN information_schema.key_column_usage f USING (table_schema, table_name, column_name)
      JOIN information_schema.referential_constraints r
        ON r.constraint_schema = f.constraint_schema AND r.constraint_name = f.constraint_name
    WHERE k.table_schema = v_schema AND k.table_name = v_table AND k.constraint_name = 'PRIMARY'
      AND r.table_name = v_table AND r.update_rule NOT IN ('RESTRICT', 'NO ACTION')) THEN
    CALL kit.refuse(CONCAT('ON UPDATE CASCADE changes its primary key past triggers: ', v_column));
  END IF;
END $$

-- An error where a row of the column holds no JSON: its key is named.
CREATE PROCEDURE kit.check_documents(IN v_column TEXT, IN v_schema VARCHAR(64), IN v_table VARCHAR(64),
                                     IN v_name VARCHAR(64), IN v_key TEXT)
SQL SECURITY INVOKER READS SQL DATA COMMENT 'dyno kit json {version}'
BEGIN
  SET @kit_row = NULL;
  SET @kit_command = CONCAT('SELECT CONCAT_WS('','', ', v_key, ') INTO @kit_row FROM `', v_schema, '`.`',
    v_table, '` WHERE `', v_name, '` IS NOT NULL AND json_tokens(CONVERT(`', v_name,
    '` USING utf8mb4), ''null'') IS NULL LIMIT 1');
  PREPARE kit_command FROM @kit_command;
  EXECUTE kit_command;
  DEALLOCATE PREPARE kit_command;
  IF @kit_row IS NOT NULL THEN
    CALL kit.refuse(CONCAT('no JSON in the row ', @kit_row, ' of ', v_column));
  END IF;
END $$

-- The statements that make an index, to be run one after the other.
CREATE PROCEDURE kit.index_json(IN v_column TEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER READS SQL DATA COMMENT 'dyno kit json {version}'
BEGIN
  DECLARE v_schema, v_table, v_name VARCHAR(64);
  DECLARE v_key, v_new, v_old, v_side, v_of, v_text, v_insert TEXT;
  CALL kit.parse_column(v_column, v_schema, v_table, v_name);
  CALL kit.check_column(v_column, v_schema, v_table, v_name);
  IF EXISTS (SELECT * FROM information_schema.tables
             WHERE table_schema = 'kit' AND table_name = v_column) THEN
    CALL kit.refuse(CONCAT('it has an index already, or half of one: ', v_column));
  END IF;
  CALL kit.key_of(v_schema, v_table, '', v_key);
  CALL kit.key_of(v_schema, v_table, 'NEW.', v_new);
  CALL kit.key_of(v_schema, v_table, 'OLD.', v_old);
  CALL kit.check_documents(v_column, v_schema, v_table, v_name, v_key);
  SET v_side = CONCAT('kit.`', v_column, '`'), v_of = CONCAT('`', v_schema, '`.`', v_table, '`'),
      v_text = CONCAT('CONVERT(`', v_name, '` USING utf8mb4)');
  SET v_insert = CONCAT('BEGIN DECLARE v_tokens LONGTEXT; SET v_tokens = json_tokens(CONVERT(NEW.`', v_name,
    '` USING utf8mb4)); REPLACE INTO ', v_side, ' (kit_token, ', v_key, ') SELECT UNHEX(SUBSTR(v_tokens,',
    ' 1 + 17 * place, 16)), ', v_new, ' FROM kit.place WHERE place < LENGTH(v_tokens) DIV 17');
  -- What triggers write may be there already, from a row that went without a trigger: so REPLACE.
  -- Places come in stretches, since a server may look at all of a stretch for each document.
  SELECT statement FROM (
    SELECT 1 AS step, CONCAT('CREATE TABLE ', v_side, ' (kit_token BINARY(8) NOT NULL DEFAULT '''', PRIMARY KEY',
      ' (kit_token, ', v_key, '), KEY kit_row (', v_key, ')) ENGINE=InnoDB COMMENT ''dyno kit json, being',
      ' filled'' AS SELECT ', v_key, ' FROM ', v_of, ' LIMIT 0') AS statement
    UNION ALL SELECT 2, CONCAT('CREATE TRIGGER `', v_schema, '`.`kit.', v_column, '.insert` AFTER INSERT ON ',
      v_of, ' FOR EACH ROW ', v_insert, '; END')
    UNION ALL SELECT 3, CONCAT('CREATE TRIGGER `', v_schema, '`.`kit.', v_column, '.change` BEFORE UPDATE ON ',
      v_of, ' FOR EACH ROW DELETE FROM ', v_side, ' WHERE (', v_key, ') = (', v_old, ')',
      ' AND NOT ((', v_new, ') <=> (', v_old, ') AND CAST(NEW.`', v_name, '` AS BINARY)',
      ' <=> CAST(OLD.`', v_name, '` AS BINARY))')
    UNION ALL SELECT 4, CONCAT('CREATE TRIGGER `', v_schema, '`.`kit.', v_column, '.update` AFTER UPDATE ON ',
      v_of, ' FOR EACH ROW ', REPLACE(v_insert, ' FROM kit.place WHERE ', CONCAT(' FROM kit.place WHERE NOT ((',
      v_new, ') <=> (', v_old, ') AND CAST(NEW.`', v_name, '` AS BINARY) <=> CAST(OLD.`', v_name,
      '` AS BINARY)) AND ')), '; END')
    UNION ALL SELECT 5, CONCAT('CREATE TRIGGER `', v_schema, '`.`kit.', v_column, '.delete` AFTER DELETE ON ',
      v_of, ' FOR EACH ROW DELETE FROM ', v_side, ' WHERE (', v_key, ') = (', v_old, ')')
    UNION ALL SELECT 6 + stretch.n, CONCAT('REPLACE INTO ', v_side, ' (kit_token, ', v_key,
      ') SELECT STRAIGHT_JOIN UNHEX(SUBSTR(d.kit_tokens, 1 + 17 * p.place, 16)), ',
      v_key, ' FROM (SELECT ', v_key, ', json_tokens(', v_text, ') AS kit_tokens FROM ', v_of,
      ' WHERE LENGTH(', v_text, ') > ', stretch.low, ' LIMIT 18446744073709551615) AS d JOIN kit.place AS p',
      ' WHERE LENGTH(d.kit_tokens) > ', 17 * stretch.low, ' AND p.place >= ', stretch.low,
      ' AND p.place < ', stretch.high, ' AND p.place < LENGTH(d.kit_tokens) DIV 17')
      FROM (SELECT 0 AS n, 0 AS low, 64 AS high UNION ALL SELECT 1, 64, 256 UNION ALL SELECT 2, 256, 1024
            UNION ALL SELECT 3, 1024, 4096 UNION ALL SELECT 4, 4096, 16384
            UNION ALL SELECT 5, 16384, 65536) AS stretch
    -- Else MySQL takes the index for an empty one, and a search of it for seconds reads far too much.
    UNION ALL SELECT 12, CONCAT('ANALYZE LOCAL TABLE ', v_side)
    UNION ALL SELECT 13, CONCAT('ALTER TABLE ', v_side, ' COMMENT ',
      QUOTE(CONCAT('dyno kit json index: ', v_key)))
  ) AS made ORDER BY step;
END $$

-- The statements that take an index away, or what there is of it.
CREATE PROCEDURE kit.drop_json_index(IN v_column TEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER READS SQL DATA COMMENT 'dyno kit json {version}'
BEGIN
  DECLARE v_schema, v_table, v_name VARCHAR(64);
  CALL kit.parse_column(v_column, v_schema, v_table, v_name);
  IF NOT EXISTS (SELECT * FROM information_schema.tables WHERE table_schema = 'kit'
                 AND table_name = v_column AND table_comment LIKE 'dyno kit json%') THEN
    CALL kit.refuse(CONCAT('it has no index: ', v_column));
  END IF;
  SELECT CONCAT('DROP TRIGGER `', trigger_schema, '`.`', trigger_name, '`') AS statement
    FROM information_schema.triggers WHERE trigger_schema = v_schema AND trigger_name IN (
      CONCAT('kit.', v_column, '.insert'), CONCAT('kit.', v_column, '.change'),
      CONCAT('kit.', v_column, '.update'), CONCAT('kit.', v_column, '.delete'))
  UNION ALL SELECT CONCAT('DROP TABLE kit.`', v_column, '`');
END $$

-- How many of its four triggers the index has whose name has this number. Only an account with rights on them may see
-- triggers, so this one procedure has the rights of whoever installed it; it takes a number, and finds names by itself.
CREATE PROCEDURE kit.count_triggers(IN v_number BIGINT UNSIGNED, OUT v_count INT)
SQL SECURITY DEFINER READS SQL DATA COMMENT 'dyno kit json {version}'
BEGIN
  DECLARE v_column VARCHAR(64) CHARACTER SET utf8 COLLATE utf8_general_ci;
  SET v_column = (SELECT MAX(table_name) FROM information_schema.tables
                  WHERE table_schema = 'kit' AND table_comment LIKE 'dyno kit json index: %'
                  AND CONV(LEFT(SHA2(CONVERT(table_name USING utf8), 256), 15), 16, 10) = v_number);
  SET v_count = (SELECT COUNT(*) FROM information_schema.triggers
    WHERE trigger_schema = SUBSTRING_INDEX(v_column, '.', 1)
      AND event_object_table = SUBSTRING_INDEX(SUBSTRING_INDEX(v_column, '.', 2), '.', -1)
      AND trigger_name IN (
        CONCAT('kit.', v_column, '.insert'), CONCAT('kit.', v_column, '.change'),
        CONCAT('kit.', v_column, '.update'), CONCAT('kit.', v_column, '.delete')));
END $$

-- Text that is put into a statement is a list of quoted names, and nothing else.
CREATE PROCEDURE kit.check_key(IN v_column TEXT, IN v_key TEXT)
SQL SECURITY INVOKER NO SQL COMMENT 'dyno kit json {version}'
BEGIN
  IF v_key IS NULL OR v_key NOT REGEXP '^`[^`]+`(, `[^`]+`)*$' THEN
    CALL kit.refuse(CONCAT('what its index says of the key is no list of columns, make it anew: ', v_column));
  END IF;
END $$

-- The primary key's columns that an index has; an error unless it is whole: filled, and kept by all its triggers.
CREATE PROCEDURE kit.check_index(IN v_column TEXT, OUT v_key TEXT)
SQL SECURITY INVOKER READS SQL DATA COMMENT 'dyno kit json {version}'
BEGIN
  DECLARE v_number BIGINT UNSIGNED;
  DECLARE v_count INT;
  SELECT MAX(SUBSTR(table_comment, 1 + LENGTH('dyno kit json index: '))),
         MAX(CONV(LEFT(SHA2(CONVERT(table_name USING utf8), 256), 15), 16, 10))
    INTO v_key, v_number FROM information_schema.tables WHERE table_schema = 'kit'
     AND table_name = v_column AND table_comment LIKE 'dyno kit json index: %';
  IF v_key IS NULL THEN
    CALL kit.refuse(CONCAT('dyno kit index-json ', v_column, ' first: it has no index'));
  END IF;
  CALL kit.count_triggers(v_number, v_count);
  IF v_count < 4 THEN
    CALL kit.refuse(CONCAT('its triggers are gone, drop its index and make it anew: ', v_column));
  END IF;
END $$

-- The rows whose document holds the pattern (json_holds), in the order of the primary key. Six of the
-- pattern's tokens at most are looked up: the rest is for json_holds. That the index is whole is most
-- of what a search takes to find out: a session that found it so looks again in the next second.
CREATE PROCEDURE kit.search(IN v_column TEXT CHARACTER SET utf8mb4,
                            IN v_pattern LONGTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER READS SQL DATA COMMENT 'dyno kit json {version}'
BEGIN
  DECLARE v_schema, v_table, v_name VARCHAR(64);
  DECLARE v_key, v_order, v_from, v_where, v_of TEXT;
  DECLARE v_tokens LONGTEXT;
  DECLARE v_at INT DEFAULT 0;
  DECLARE v_seen VARBINARY(300);
  CALL kit.parse_column(v_column, v_schema, v_table, v_name);
  SET v_seen = CAST(CONCAT(UNIX_TIMESTAMP(SYSDATE()), ' ', v_column) AS BINARY);
  IF NOT (v_seen <=> @kit_seen) THEN
    -- else a refusal would leave what was seen of another index beside the key of this one
    SET @kit_seen = NULL;
    CALL kit.check_index(v_column, @kit_key);
    SET @kit_seen = v_seen;
  END IF;
  SET v_key = @kit_key;
  CALL kit.check_key(v_column, v_key);
  SET v_order = CONCAT('d.', REPLACE(v_key, '`, `', '`, d.`'));
  IF v_pattern IS NULL THEN
    CALL kit.refuse('the pattern is NULL; JSON''s own is ''null''');
  END IF;
  SET v_tokens = json_tokens(v_pattern), v_from = '', v_where = '';
  WHILE v_at < LEAST(6, LENGTH(v_tokens) DIV 17) DO
    SET v_from = CONCAT(v_from, IF(v_at, CONCAT(' JOIN kit.`', v_column, '` AS t', v_at, ' USING (', v_key, ')'),
                                   CONCAT('kit.`', v_column, '` AS t0'))),
        v_where = CONCAT(v_where, IF(v_at, ' AND t', 't'), v_at, '.kit_token = UNHEX(''',
                         SUBSTR(v_tokens, 1 + 17 * v_at, 16), ''')'),
        v_at = v_at + 1;
  END WHILE;
  SET v_of = CONCAT('`', v_schema, '`.`', v_table, '` AS d');
  -- Keys first, then rows: a table that was filled seconds ago MySQL takes for an empty one and would
  -- read it all. LIMIT keeps the keys a step of their own, which both servers would merge else.
  IF v_at THEN
    SET v_of = CONCAT('(SELECT ', v_key, ' FROM ', v_from, ' WHERE ', v_where,
                      ' LIMIT 18446744073709551615) AS found JOIN ', v_of, ' FORCE INDEX (PRIMARY) USING (', v_key, ')');
  END IF;
  SET @kit_pattern = v_pattern;
  SET @kit_command = CONCAT('SELECT STRAIGHT_JOIN d.* FROM ', v_of, ' WHERE json_holds(CONVERT(d.`', v_name,
                            '` USING utf8mb4), @kit_pattern) ORDER BY ', v_order);
  PREPARE kit_command FROM @kit_command;
  EXECUTE kit_command;
  DEALLOCATE PREPARE kit_command;
  SET @kit_command = NULL, @kit_pattern = NULL;
END $$
