"""Creates what the part `async` needs for an account that queues jobs: its schema, its entry points
to the queue, and the procedures that run and cancel its jobs.

An account writes to tables of its own only (`inbox`, `wishes`), and the kit reads those without a
lock, so that no transaction of an account's makes another wait. What became of its jobs it is told
by procedures that take its pass, a random number in a table that no other may read, and that
read without a lock whatever isolation the caller's session has. They know the number themselves:
a temporary table of a caller's could stand in place of that table.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass

SCHEMA = "async"
#: What an account that queues may call: all have the caller's own rights.
CALLED = (
    *("who", "command", "submit", "queue", "check_after", "look", "check", "wait", "wait_list"),
    *("wait_all", "wish", "cancel", "forget"),
)
#: What account N may call, with rights that are not its own.
OWN = ("claimed", "look_{0}", "check_{0}", "run_{0}")
#: What is made anew for each account; {0} is its number.
ROUTINES = ("run_{0}", "look_{0}", "check_{0}", "heed_{0}", "sweep_{0}")
TABLES = ("inbox", "wishes", "pass")
WRITTEN = "sql_text, priority, after_list, timeout_s"
JOB = "account = {number} AND q_id = v_q_id"


@dataclass(frozen=True)
class QueueAccount:
    """An account that may queue, `user@host`, and its number."""

    name: str
    number: int = 0

    @property
    def quoted(self) -> str:
        user, _, host = self.name.rpartition("@")
        return f"'{escape_text(user)}'@'{escape_text(host)}'"

    @property
    def schema(self) -> str:
        return f"{SCHEMA}_{self.number}"


def escape_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "''")


def list_schema_statements(account: QueueAccount) -> Iterator[str]:
    """Its tables, where those that are there stay, its trigger and its procedures, and a new
    pass.
    """
    number = secrets.randbits(63) | 1
    yield from list_tables(account)
    yield f"DELETE FROM {account.schema}.pass"
    yield f"INSERT INTO {account.schema}.pass VALUES ({number})"
    yield from list_routines(account, number)


def list_tables(account: QueueAccount) -> Iterator[str]:
    schema = account.schema
    made = f"CREATE TABLE IF NOT EXISTS {schema}."
    ours = "ENGINE=InnoDB COMMENT 'dyno kit async'"
    yield (
        f"{made}inbox (q_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,"
        " sql_text LONGTEXT NOT NULL, priority SMALLINT NOT NULL DEFAULT 0,"
        " after_list VARCHAR(1000) CHARACTER SET ascii NOT NULL DEFAULT '',"
        f" timeout_s INT UNSIGNED NULL) {ours}"
    )
    yield (
        f"{made}wishes (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,"
        f" q_id BIGINT UNSIGNED NOT NULL, wish ENUM('CANCEL','FORGET') NOT NULL) {ours}"
    )
    yield f"{made}pass (number BIGINT UNSIGNED NOT NULL PRIMARY KEY) {ours}"


def list_routines(account: QueueAccount, pass_number: int) -> Iterator[str]:
    yield _enter(account)
    yield build_runner(account)
    yield _build_lookup(account, pass_number)
    yield _check(account, pass_number)
    yield _build_cancel_check(account)
    yield _sweep(account)


def _enter(account: QueueAccount) -> str:
    """Make a row of its inbox a job, which is visible when the row is."""
    number = account.number
    return f"""
CREATE TRIGGER {account.schema}.enter AFTER INSERT ON {account.schema}.inbox FOR EACH ROW
BEGIN
  DECLARE v_left VARCHAR(1000) CHARACTER SET ascii DEFAULT NEW.after_list;
  IF v_left NOT REGEXP '^([0-9]{{1,18}}(,[0-9]{{1,18}})*)?$' THEN
    SIGNAL SQLSTATE '99998' SET MESSAGE_TEXT = 'the jobs to come after are numbers, as 3,5,8';
  END IF;
  INSERT INTO async.q (account, q_id, state, priority, timeout_s, keeps, created_on)
  VALUES ({number}, NEW.q_id, IF(v_left = '', 'QUEUED', 'BLOCKED'), NEW.priority, NEW.timeout_s,
          async.is_query(NEW.sql_text), UTC_TIMESTAMP(6));
  WHILE v_left <> '' DO
    INSERT IGNORE INTO async.needs (account, job, needed)
    VALUES ({number}, NEW.q_id, SUBSTRING_INDEX(v_left, ',', 1));
    SET v_left = IF(LOCATE(',', v_left), SUBSTRING(v_left, LOCATE(',', v_left) + 1), '');
  END WHILE;
END"""


def build_runner(account: QueueAccount) -> str:
    """The procedure that runs this account's jobs: it is the account's own, and so are the rights.

    A query's rows are kept in a temporary table. What begins as a query and cannot stand behind
    CREATE TABLE (WITH … UPDATE) is run as it is. Behind CREATE TABLE a query locks every row that
    it reads, unless the session's level is READ COMMITTED; of one statement both levels show one
    snapshot. A binary log by statement takes no writes of InnoDB at that level (error 1665).
    Where sessions begin without autocommit a job does, too: a procedure is one transaction.
    """
    kept = f"{account.schema}.kept_rows"
    return f"""
CREATE DEFINER={account.quoted} PROCEDURE async.run_{account.number}(
  IN v_job BIGINT UNSIGNED, OUT v_rows BIGINT, OUT v_kept TINYINT)
SQL SECURITY DEFINER MODIFIES SQL DATA
BEGIN
  DECLARE v_sql LONGTEXT;
  SET v_kept = 0;
  CALL async.claimed({account.number}, v_job, v_kept);
  SELECT MIN(sql_text) INTO v_sql FROM {account.schema}.inbox WHERE q_id = v_job;
  SET SESSION sql_mode = @@GLOBAL.sql_mode;
  IF v_kept THEN
    BEGIN
      DECLARE CONTINUE HANDLER FOR 1064, 1221, 1234, 1235, 1746 SET v_kept = 0;
      SET @async_command = CONCAT('CREATE TEMPORARY TABLE {kept} ENGINE=InnoDB AS ', v_sql);
      PREPARE async_statement FROM @async_command;
    END;
  END IF;
  IF NOT v_kept THEN
    SET @async_command = v_sql;
    PREPARE async_statement FROM @async_command;
    SET SESSION autocommit = @@GLOBAL.autocommit;
  END IF;
  SET @async_command = NULL;
  IF v_kept AND NOT (@@GLOBAL.log_bin AND @@GLOBAL.binlog_format = 'STATEMENT') THEN
    SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
  END IF;
  EXECUTE async_statement;
  SET v_rows = ROW_COUNT();
  DEALLOCATE PREPARE async_statement;
END"""


def _build_lookup(account: QueueAccount, pass_number: int) -> str:
    """Return what became of a job; nothing if there is none of this number, or the pass is
    wrong.
    """
    where = JOB.format(number=account.number)
    return f"""
CREATE PROCEDURE async.look_{account.number}(
  IN v_pass BIGINT UNSIGNED, IN v_q_id BIGINT UNSIGNED, OUT v_state VARCHAR(10),
  OUT v_has_result TINYINT, OUT v_rows BIGINT, OUT v_text VARCHAR(128))
SQL SECURITY DEFINER READS SQL DATA
BEGIN
  COMMIT AND NO CHAIN NO RELEASE;
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  SELECT MAX(CONCAT(state)), MAX(has_result), MAX(row_count), LEFT(MAX(errmsg), 128)
    INTO v_state, v_has_result, v_rows, v_text FROM async.q
   WHERE {where} AND v_pass = {pass_number};
  COMMIT AND NO CHAIN NO RELEASE;
END"""


def _check(account: QueueAccount, pass_number: int) -> str:
    """Return all that is known of a job."""
    where = JOB.format(number=account.number).replace("q_id", "q.q_id", 1)
    return f"""
CREATE PROCEDURE async.check_{account.number}(IN v_pass BIGINT UNSIGNED, IN v_q_id BIGINT UNSIGNED)
SQL SECURITY DEFINER READS SQL DATA
BEGIN
  COMMIT AND NO CHAIN NO RELEASE;
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  SELECT q.q_id, state, sql_text, created_on, started_on, completed_on, row_count, sql_state, errno,
         errmsg, q.priority, after_list, q.timeout_s, connection_id
    FROM async.q AS q JOIN {account.schema}.inbox AS i ON i.q_id = q.q_id
   WHERE {where} AND v_pass = {pass_number};
  COMMIT AND NO CHAIN NO RELEASE;
END"""


def _build_cancel_check(account: QueueAccount) -> str:
    """End the jobs that the account wants cancelled. It deletes no wish, as the account may hold
    one by an open transaction: _sweep does, where nothing waits for it.
    """
    schema, number = account.schema, account.number
    return f"""
CREATE PROCEDURE async.heed_{number}()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_job BIGINT UNSIGNED;
  DECLARE v_done INT DEFAULT 0;
  DECLARE v_jobs CURSOR FOR
    SELECT q_id FROM {schema}.wishes WHERE wish = 'CANCEL' ORDER BY id LIMIT 1000;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  CALL async.only_events();
  OPEN v_jobs;
  FETCH v_jobs INTO v_job;
  WHILE NOT v_done DO
    CALL async.cancel_job({number}, v_job);
    SET v_done = 0;
    FETCH v_jobs INTO v_job;
  END WHILE;
  CLOSE v_jobs;
END"""


def _sweep(account: QueueAccount) -> str:
    """Drop the jobs that the account wants removed, and those that are too old; fulfilled wishes
    go. If it holds a result or a row in an open transaction, the rest is left for the next second.
    """
    schema, number = account.schema, account.number
    return f"""
CREATE PROCEDURE async.sweep_{number}()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE v_id, v_job BIGINT UNSIGNED;
  DECLARE v_wish VARCHAR(10);
  DECLARE v_is_active, v_done INT DEFAULT 0;
  DECLARE v_hours INT DEFAULT (SELECT value + 0 FROM async.settings WHERE variable = 'retention_h');
  DECLARE v_jobs CURSOR FOR
    (SELECT id, q_id, CONCAT(wish) FROM {schema}.wishes ORDER BY id LIMIT 1000)
    UNION ALL
    (SELECT 0, q_id, 'FORGET' FROM async.q WHERE account = {number}
      AND completed_on < UTC_TIMESTAMP(6) - INTERVAL v_hours HOUR LIMIT 100);
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  DECLARE EXIT HANDLER FOR 1205, 1213 BEGIN END;
  CALL async.follow({number});
  OPEN v_jobs;
  FETCH v_jobs INTO v_id, v_job, v_wish;
  WHILE NOT v_done DO
    SET v_is_active = EXISTS (SELECT 1 FROM async.q WHERE account = {number} AND q_id = v_job
                              AND state IN ('QUEUED', 'BLOCKED', 'RUNNING'));
    IF v_wish = 'FORGET' AND NOT v_is_active THEN
      SET @async_command = CONCAT('DROP TABLE IF EXISTS {schema}.rs_', v_job);
      PREPARE async_command FROM @async_command;
      EXECUTE async_command;
      DEALLOCATE PREPARE async_command;
      DELETE FROM {schema}.inbox WHERE q_id = v_job;
      DELETE FROM async.q WHERE account = {number} AND q_id = v_job;
    END IF;
    IF v_wish = 'FORGET' OR NOT v_is_active THEN
      DELETE FROM {schema}.wishes WHERE id = v_id;
    END IF;
    SET v_done = 0;
    FETCH v_jobs INTO v_id, v_job, v_wish;
  END WHILE;
  CLOSE v_jobs;
END"""


def list_grants(account: QueueAccount, pattern: str) -> Iterator[tuple[str, str]]:
    """Yield what an account is granted, and how that is revoked; `pattern` is its schema as GRANT
    takes it, where _ stands for any letter.
    """
    # a definer may execute its own procedure only where it is granted to it
    own = (it.format(account.number) for it in OWN)
    rights = [f"EXECUTE ON PROCEDURE async.{name}" for name in (*CALLED, *own)]
    rights += ["SELECT ON async.account", f"SELECT ON `{pattern}`.*"]
    rights += [f"CREATE TEMPORARY TABLES ON `{pattern}`.*"]
    rights += [f"INSERT ({WRITTEN}) ON {account.schema}.inbox"]
    rights += [f"INSERT (q_id, wish) ON {account.schema}.wishes"]
    for right in rights:
        yield f"GRANT {right} TO {account.quoted}", f"REVOKE {right} FROM {account.quoted}"


def list_older_grants(account: QueueAccount) -> Iterator[str]:
    """Revoke what older versions granted and this one does not."""
    schema = account.schema
    rights = [f"SELECT ON {schema}.*", f"CREATE TEMPORARY TABLES ON {schema}.*"]
    rights += [
        f"INSERT (account, {WRITTEN}), UPDATE (wanted) ON {schema}.jobs",
        "EXECUTE ON PROCEDURE async.text_of",
    ]
    for right in rights:
        yield f"REVOKE {right} FROM {account.quoted}"
