-- A task of an array that has to leave is run again in the same attempt: a run
-- of a task is a row of its own, since charges, logs and names belong to it. A
-- key cannot be changed in place, so the table is made anew.
CREATE TABLE tasks_by_run (
    workload    TEXT    NOT NULL,
    attempt     INTEGER NOT NULL,
    idx         INTEGER NOT NULL,
    run         INTEGER NOT NULL DEFAULT 0,
    body        TEXT    NOT NULL,
    placed_us   INTEGER,
    released_us INTEGER,
    milli       INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (workload, attempt, idx, run)
) WITHOUT ROWID;
INSERT INTO tasks_by_run (workload, attempt, idx, run, body, placed_us, released_us, milli)
    SELECT workload, attempt, idx, 0, body, placed_us, released_us, milli FROM tasks ORDER BY workload, attempt, idx;
DROP TABLE tasks;
ALTER TABLE tasks_by_run RENAME TO tasks;
CREATE INDEX tasks_charged ON tasks (COALESCE(released_us, 9223372036854775807), placed_us)
    WHERE milli > 0 AND placed_us IS NOT NULL;

-- For whom others were told to leave, in the order in which they are served, and
-- for how many tasks.
CREATE TABLE promises (
    place    INTEGER PRIMARY KEY,
    workload TEXT    NOT NULL UNIQUE,
    tasks    INTEGER NOT NULL
);
