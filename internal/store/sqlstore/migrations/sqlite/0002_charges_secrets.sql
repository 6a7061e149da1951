-- Since when a task has held its devices, when it gave them back, and how many
-- thousandths of devices they are: what charged time is read from.
ALTER TABLE tasks ADD COLUMN placed_us INTEGER;
ALTER TABLE tasks ADD COLUMN released_us INTEGER;
ALTER TABLE tasks ADD COLUMN milli INTEGER NOT NULL DEFAULT 0;

-- Former versions did not write when devices were given back. It was when the
-- attempt left Terminating and for arrays, whose tasks give them back one by
-- one, when the task ended. An attempt that is over without a time cannot be
-- there; should it, then its task's own end is right, and charging for ever wrong.
UPDATE tasks SET body = json_set(body, '$.releasedAt', r.at)
FROM (
    SELECT t.workload, t.attempt, t.idx, CASE
        WHEN s.document ->> '$.array' IS NOT NULL AND t.body ->> '$.endedAt' IS NOT NULL
            AND t.body ->> '$.state' IN ('succeeded', 'failed', 'lost') THEN t.body ->> '$.endedAt'
        ELSE COALESCE(
            (SELECT a.value ->> '$.endedAt' FROM json_each(w.status, '$.attempts') a
                WHERE a.value ->> '$.index' = t.attempt),
            CASE WHEN t.attempt < w.attempt OR w.phase NOT IN ('Starting', 'Running', 'Restarting', 'Terminating')
                THEN COALESCE(t.body ->> '$.endedAt', t.body ->> '$.placedAt') END)
        END AS at
    FROM tasks t JOIN workloads w ON w.id = t.workload JOIN specs s ON s.seq = w.seq
    WHERE t.body ->> '$.placedAt' IS NOT NULL
) r
WHERE r.at IS NOT NULL AND tasks.workload = r.workload AND tasks.attempt = r.attempt AND tasks.idx = r.idx;

-- Times are written as 2006-01-02T15:04:05.123456Z, without the zeros at the
-- end of the fraction. The engine's own functions would round it to milliseconds.
UPDATE tasks SET
    placed_us = CAST(strftime('%s', substr(body ->> '$.placedAt', 1, 19)) AS INTEGER) * 1000000
        + CAST(substr(rtrim(substr(body ->> '$.placedAt', 21), 'Z') || '000000', 1, 6) AS INTEGER),
    released_us = CAST(strftime('%s', substr(body ->> '$.releasedAt', 1, 19)) AS INTEGER) * 1000000
        + CAST(substr(rtrim(substr(body ->> '$.releasedAt', 21), 'Z') || '000000', 1, 6) AS INTEGER),
    milli = COALESCE((SELECT SUM(d.value ->> '$.milli') FROM json_each(body, '$.devices') d), 0);

-- What is still held comes last, so that the time of a recent span is at the
-- end, however long the history. Tasks without devices are not in it.
CREATE INDEX tasks_charged ON tasks (COALESCE(released_us, 9223372036854775807), placed_us)
    WHERE milli > 0 AND placed_us IS NOT NULL;

CREATE TABLE secrets (
    user_name TEXT NOT NULL,
    name      TEXT NOT NULL,
    body      TEXT NOT NULL,
    PRIMARY KEY (user_name, name)
);
