-- The part options: each option of a variable that is a list by itself. Statements end with $$.
--
-- kit.options shows them. No procedure sets one: what it does to sql_mode of its session is undone as it
-- ends (sp_head::execute in the server's source), so kit.with_option answers the list's new text, and the
-- caller sets it.

-- As many as a variable's text in those tables may have options: 2048 characters, every other a comma.
CREATE TABLE IF NOT EXISTS kit.option_place (
  place INT UNSIGNED NOT NULL PRIMARY KEY
) ENGINE=InnoDB COMMENT 'dyno kit options' $$

INSERT IGNORE INTO kit.option_place VALUES (0), (1), (2), (3), (4), (5), (6), (7) $$

INSERT IGNORE INTO kit.option_place
  SELECT a.place + 8 * b.place + 64 * c.place FROM kit.option_place a, kit.option_place b, kit.option_place c
  WHERE a.place < 8 AND b.place < 8 AND c.place < 8 $$

INSERT IGNORE INTO kit.option_place SELECT place + 512 FROM kit.option_place WHERE place < 512 $$

-- What every variable holds. No list has both commas and colons.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW kit.option_list AS
SELECT 'session' AS scope, LOWER(variable_name) AS variable_name, REPLACE(variable_value, ':', ',') AS list
FROM {variables}.session_variables
UNION ALL
SELECT 'global', LOWER(variable_name), REPLACE(variable_value, ':', ',') FROM {variables}.global_variables $$

-- The items of those that are lists: of flags mrr=on, of a set the name of one that is on.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW kit.option_item AS
SELECT scope, variable_name, TRIM(SUBSTRING_INDEX(SUBSTRING_INDEX(list, ',', place + 1), ',', -1)) AS item
FROM kit.option_list JOIN kit.option_place ON place <= CHAR_LENGTH(list) - CHAR_LENGTH(REPLACE(list, ',', ''))
WHERE list REGEXP '^[[:alnum:]_]+=[[:alnum:]_]+(,[[:alnum:]_]+=[[:alnum:]_]+)+$' OR variable_name IN ({sets}) $$

-- Made whole before it is joined: merged into a join, MariaDB pairs all places before it looks at a list.
CREATE OR REPLACE ALGORITHM=TEMPTABLE SQL SECURITY INVOKER VIEW kit.options AS
SELECT scope, variable_name, SUBSTRING_INDEX(item, '=', 1) AS option_name,
  IF(LOCATE('=', item), SUBSTRING_INDEX(item, '=', -1), 'on') AS value
FROM kit.option_item WHERE item NOT IN ('', 'OFF', 'NONE') $$

-- The list with the option set to the value, and all others as they were.
CREATE FUNCTION kit.with_option(v_list TEXT, v_option VARCHAR(128), v_value VARCHAR(128)) RETURNS TEXT
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'dyno kit options {version}'
BEGIN
  DECLARE v_at, v_end INT;
  DECLARE v_inner TEXT;
  DECLARE v_why VARCHAR(128);
  -- options of sql_mode that bring others along
  DECLARE v_several VARCHAR(128) DEFAULT
    'ANSI|TRADITIONAL|DB2|MAXDB|MSSQL|MYSQL323|MYSQL40|ORACLE|POSTGRESQL';
  IF v_list IS NULL OR v_option IS NULL OR v_value IS NULL THEN
    SET v_why = 'with_option takes a list, an option and its value, none of them NULL';
  ELSEIF v_option NOT REGEXP '^[[:alnum:]_.]+$' OR v_value NOT REGEXP '^[[:alnum:]_]+$' THEN
    SET v_why = CONCAT('no option and value: ', LEFT(v_option, 40), ', ', LEFT(v_value, 40));
  ELSEIF v_list REGEXP '[^[:alnum:]_.,=]' OR LEFT(v_option, 4) = 'TLS_' THEN
    SET v_why = 'no list of options apart by commas; in one of ciphers the order counts: write it whole';
  ELSEIF v_list REGEXP '=' THEN
    SET v_at = LOCATE(CONCAT(',', v_option, '='), CONCAT(',', v_list));
    IF v_at = 0 THEN
      SET v_why = CONCAT('the list has no option ', LEFT(v_option, 90));
    END IF;
  ELSEIF v_value NOT IN ('on', 'off') THEN
    SET v_why = CONCAT('options of a set are on or off, not ', LEFT(v_value, 80));
  ELSEIF v_value = 'off' AND FIND_IN_SET(v_option, v_list) AND v_option NOT REGEXP CONCAT('^(', v_several, ')$')
      AND v_list REGEXP CONCAT('(^|,)(', v_several, ')(,|$)') THEN
    SET v_why = 'an option of the list brings others along (TRADITIONAL, ANSI …): set that one off first';
  END IF;
  IF v_why IS NOT NULL THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_why;
  END IF;
  IF v_at THEN
    SET v_end = LOCATE(',', v_list, v_at);
    RETURN CONCAT(LEFT(v_list, v_at + CHAR_LENGTH(v_option)), v_value,
                  IF(v_end, SUBSTRING(v_list, v_end), ''));
  END IF;
  SET v_inner = IF(v_list IN ('OFF', 'NONE'), ',', CONCAT(',', v_list, ','));
  SET v_at = LOCATE(CONCAT(',', v_option, ','), v_inner);
  IF v_value = 'on' THEN
    RETURN IF(v_at, v_list, TRIM(BOTH ',' FROM CONCAT(v_inner, v_option)));
  END IF;
  RETURN IF(v_at = 0, v_list, TRIM(BOTH ',' FROM
    CONCAT(LEFT(v_inner, v_at), SUBSTRING(v_inner, v_at + CHAR_LENGTH(v_option) + 2))));
END $$
