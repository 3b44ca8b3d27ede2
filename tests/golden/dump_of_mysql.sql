CREATE TABLE parent (id INT PRIMARY KEY, name VARCHAR(40) CHARACTER SET latin1) ENGINE=InnoDB;
CREATE TABLE child (
  id INT AUTO_INCREMENT PRIMARY KEY, parent INT NOT NULL, data BLOB, note TEXT CHARACTER SET utf8mb4,
  flags BIT(3), /*!80000 twice INT AS (parent * 2) STORED, */ `odd``name;x` DECIMAL(10, 3),
  FOREIGN KEY (parent) REFERENCES parent (id)) ENGINE=InnoDB;
INSERT INTO parent VALUES (1, 'café'), (2, 'it''s; \\ "two"'), (3, NULL);
INSERT INTO child (parent, data, note, flags, `odd``name;x`) VALUES
  (1, x'00FF27225C0A0D1A3B', 'line\nnext\ttab \\n', b'101', 1.500),
  (2, NULL, '-- no comment; /* none */ # 😀', b'000', NULL);
CREATE TABLE log (said VARCHAR(80));
CREATE VIEW a_view AS SELECT c.id, p.name FROM child c JOIN parent p ON p.id = c.parent;
CREATE VIEW b_view AS SELECT name FROM a_view WHERE name <> ';';
CREATE TRIGGER told AFTER INSERT ON parent FOR EACH ROW BEGIN
  INSERT INTO log VALUES (CONCAT('new; ', NEW.id)); SET @last = NEW.id; END;
CREATE PROCEDURE add_one(IN wanted INT) BEGIN DECLARE found INT; SELECT COUNT(*) INTO found FROM parent;
  IF found < 100 THEN INSERT INTO parent VALUES (wanted, 'added; '); END IF; END;
CREATE FUNCTION next_of(n INT) RETURNS INT DETERMINISTIC RETURN n + 1;
CREATE EVENT at_times ON SCHEDULE EVERY 10 DAY DO BEGIN DELETE FROM log; SET @x = 1; END;
