-- A database of the first format, as the version before charges and secrets
-- wrote it. It is never written again.
PRAGMA application_id = 1299412082;
PRAGMA user_version = 1;
CREATE TABLE workloads (
    seq        INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    rev        INTEGER NOT NULL,
    version    INTEGER NOT NULL CHECK (version > 0),
    project    TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    user_name  TEXT    NOT NULL,
    phase      TEXT    NOT NULL,
    live       INTEGER NOT NULL CHECK (live IN (0, 1)),
    awake      INTEGER NOT NULL CHECK (awake IN (0, 1) AND awake >= live),
    deleted    INTEGER NOT NULL CHECK (deleted IN (0, 1)),
    attempt    INTEGER NOT NULL,
    created_us INTEGER,
    ended_us   INTEGER,
    status     TEXT    NOT NULL
);
CREATE UNIQUE INDEX workloads_name ON workloads (name, project) WHERE deleted = 0;
CREATE INDEX workloads_present ON workloads (seq) WHERE deleted = 0;
CREATE INDEX workloads_project ON workloads (project, seq, deleted);
CREATE INDEX workloads_user ON workloads (user_name, seq, deleted);
CREATE INDEX workloads_kind ON workloads (kind, seq, deleted);
CREATE INDEX workloads_created ON workloads (created_us, seq, deleted);
CREATE INDEX workloads_phase ON workloads (phase, seq);
CREATE INDEX workloads_live ON workloads (seq) WHERE live = 1;
CREATE INDEX workloads_awake ON workloads (seq) WHERE awake = 1;
CREATE INDEX workloads_rev ON workloads (rev, seq);
CREATE TABLE specs (
    seq      INTEGER PRIMARY KEY,
    document TEXT NOT NULL
);
CREATE TABLE labels (
    name  TEXT    NOT NULL,
    value TEXT    NOT NULL,
    seq   INTEGER NOT NULL,
    PRIMARY KEY (name, value, seq)
) WITHOUT ROWID;
CREATE TABLE tasks (
    workload TEXT    NOT NULL,
    attempt  INTEGER NOT NULL,
    idx      INTEGER NOT NULL,
    body     TEXT    NOT NULL,
    PRIMARY KEY (workload, attempt, idx)
) WITHOUT ROWID;
CREATE TABLE transitions (
    seq        INTEGER PRIMARY KEY,
    workload   TEXT    NOT NULL,
    attempt    INTEGER NOT NULL,
    from_phase TEXT    NOT NULL,
    event      TEXT    NOT NULL,
    to_phase   TEXT    NOT NULL,
    target     TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    message    TEXT    NOT NULL,
    actor      TEXT    NOT NULL,
    at_us      INTEGER
);
CREATE INDEX transitions_workload ON transitions (workload, seq);
CREATE TABLE keys (
    user_name TEXT    NOT NULL,
    key       TEXT    NOT NULL,
    hash      TEXT    NOT NULL,
    workload  TEXT    NOT NULL,
    at_us     INTEGER NOT NULL,
    PRIMARY KEY (user_name, key)
) WITHOUT ROWID;
CREATE INDEX keys_at ON keys (at_us);
CREATE TABLE projects (
    id   TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL
);
CREATE TABLE meta (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    revision INTEGER NOT NULL,
    term     INTEGER NOT NULL,
    holder   TEXT    NOT NULL
);
INSERT INTO workloads VALUES (1, 'old1', 1, 1, 'default', 'retried', 'training', 'ada', 'Completed', 0, 0, 0, 1, 1772366340000001, 1772366490000000, '{"attempts":[{"index":0,"queuedAt":"2026-03-01T12:00:00Z","startedAt":"2026-03-01T12:00:01Z","endedAt":"2026-03-01T12:00:10.5Z","reason":"Error"},{"index":1,"queuedAt":"2026-03-01T12:00:11Z","startedAt":"2026-03-01T12:00:12Z","endedAt":"2026-03-01T12:00:30.999999Z"}],"phaseAt":"2026-03-01T12:01:30Z"}');
INSERT INTO workloads VALUES (2, 'old2', 1, 1, 'default', 'array', 'training', 'ada', 'Running', 1, 1, 0, 0, 1772366340000001, NULL, '{"attempts":[{"index":0,"queuedAt":"2026-03-01T12:00:00Z","startedAt":"2026-03-01T12:00:01Z","gpuMilli":1000}],"phaseAt":"2026-03-01T12:01:30Z"}');
INSERT INTO workloads VALUES (3, 'old3', 1, 1, 'default', 'gang', 'distributed', 'ada', 'Running', 1, 1, 0, 0, 1772366340000001, NULL, '{"attempts":[{"index":0,"queuedAt":"2026-03-01T12:00:00Z","startedAt":"2026-03-01T12:00:01Z","gpuMilli":2000}],"phaseAt":"2026-03-01T12:01:30Z"}');
INSERT INTO workloads VALUES (4, 'old4', 1, 1, 'default', 'plain', 'training', 'ada', 'Completed', 0, 0, 0, 0, 1772366340000001, 1772366490000000, '{"attempts":[{"index":0,"queuedAt":"2026-03-01T12:00:00Z","startedAt":"2026-03-01T12:00:01Z","endedAt":"2026-03-01T12:00:05Z"}],"phaseAt":"2026-03-01T12:01:30Z"}');
INSERT INTO workloads VALUES (5, 'old5', 1, 1, 'default', 'gone', 'distributed', 'ada', 'Deleted', 0, 0, 1, 0, 1772366340000001, 1772366490000000, '{"attempts":[{"index":0,"queuedAt":"2026-03-01T12:00:00Z","startedAt":"2026-03-01T12:00:01Z","endedAt":"2026-03-01T12:01:00.12Z"}],"phaseAt":"2026-03-01T12:01:30Z"}');
INSERT INTO workloads VALUES (6, 'old6', 1, 1, 'default', 'broken', 'training', 'ada', 'Failed', 0, 0, 0, 1, 1772366340000001, 1772366490000000, '{"attempts":[{"index":0,"queuedAt":"2026-03-01T12:00:00Z"},{"index":1,"queuedAt":"2026-03-01T12:00:11Z"}],"phaseAt":"2026-03-01T12:01:30Z"}');
INSERT INTO workloads VALUES (7, 'old7', 1, 1, 'default', 'ended-array', 'training', 'ada', 'Stopped', 0, 0, 0, 0, 1772366340000001, 1772366490000000, '{"attempts":[{"index":0,"queuedAt":"2026-03-01T12:00:00Z","startedAt":"2026-03-01T12:00:01Z","endedAt":"2026-03-01T12:00:50Z"}],"phaseAt":"2026-03-01T12:01:30Z"}');
INSERT INTO specs VALUES (1, '{"kind":"training","name":"retried","project":"default","labels":{"team":"a"},"priority":"medium","preemptible":true,"command":"echo hi","resources":{"cpu":"1","gpu":1},"retry":{"backoff":"10s","maxBackoff":"6m","system":3},"gracePeriod":"30s"}');
INSERT INTO specs VALUES (2, '{"kind":"training","name":"array","project":"default","labels":{"team":"a"},"priority":"medium","preemptible":true,"command":"echo hi","resources":{"cpu":"1","gpu":1},"array":{"completions":4,"parallelism":2},"retry":{"backoff":"10s","maxBackoff":"6m","system":3},"gracePeriod":"30s"}');
INSERT INTO specs VALUES (3, '{"kind":"distributed","name":"gang","project":"default","labels":{"team":"a"},"priority":"medium","preemptible":true,"command":"echo hi","resources":{"cpu":"1","gpu":1},"workers":2,"framework":"env","retry":{"backoff":"10s","maxBackoff":"6m","system":3},"gracePeriod":"30s"}');
INSERT INTO specs VALUES (4, '{"kind":"training","name":"plain","project":"default","priority":"medium","preemptible":true,"command":"echo hi","resources":{"cpu":"1"},"retry":{"backoff":"10s","maxBackoff":"6m","system":3},"gracePeriod":"30s"}');
INSERT INTO specs VALUES (5, '{"kind":"distributed","name":"gone","project":"default","labels":{"team":"a"},"priority":"medium","preemptible":true,"command":"echo hi","resources":{"cpu":"1","gpu":1},"workers":2,"framework":"env","retry":{"backoff":"10s","maxBackoff":"6m","system":3},"gracePeriod":"30s"}');
INSERT INTO specs VALUES (6, '{"kind":"training","name":"broken","project":"default","labels":{"team":"a"},"priority":"medium","preemptible":true,"command":"echo hi","resources":{"cpu":"1","gpu":1},"retry":{"backoff":"10s","maxBackoff":"6m","system":3},"gracePeriod":"30s"}');
INSERT INTO specs VALUES (7, '{"kind":"training","name":"ended-array","project":"default","labels":{"team":"a"},"priority":"medium","preemptible":true,"command":"echo hi","resources":{"cpu":"1","gpu":1},"array":{"completions":2,"parallelism":2},"retry":{"backoff":"10s","maxBackoff":"6m","system":3},"gracePeriod":"30s"}');
INSERT INTO labels VALUES ('team', 'a', 1);
INSERT INTO labels VALUES ('team', 'a', 2);
INSERT INTO labels VALUES ('team', 'a', 3);
INSERT INTO labels VALUES ('team', 'a', 5);
INSERT INTO labels VALUES ('team', 'a', 6);
INSERT INTO labels VALUES ('team', 'a', 7);
INSERT INTO tasks VALUES ('old1', 0, 0, '{"role":"task","plane":"local","node":"node-1","devices":[{"device":"GPU-0","index":0,"milli":1000}],"state":"failed","placedAt":"2026-03-01T12:00:01.25Z","startedAt":"2026-03-01T12:00:02.25Z","endedAt":"2026-03-01T12:00:09Z"}');
INSERT INTO tasks VALUES ('old1', 1, 0, '{"role":"task","plane":"local","node":"node-1","devices":[{"device":"GPU-0","index":0,"milli":1000},{"device":"GPU-1","index":1,"milli":1000}],"state":"succeeded","placedAt":"2026-03-01T12:00:12.000001Z","startedAt":"2026-03-01T12:00:13.000001Z","endedAt":"2026-03-01T12:00:30Z"}');
INSERT INTO tasks VALUES ('old2', 0, 0, '{"role":"task","plane":"local","node":"node-1","devices":[{"device":"GPU-0","index":0,"milli":1000}],"state":"succeeded","placedAt":"2026-03-01T12:00:01Z","startedAt":"2026-03-01T12:00:02Z","endedAt":"2026-03-01T12:00:07.000003Z"}');
INSERT INTO tasks VALUES ('old2', 0, 1, '{"role":"task","plane":"local","node":"node-1","devices":[{"device":"GPU-0","index":0,"milli":1000}],"state":"running","placedAt":"2026-03-01T12:00:08Z","startedAt":"2026-03-01T12:00:09Z"}');
INSERT INTO tasks VALUES ('old2', 0, 2, '{"role":"task","state":"pending"}');
INSERT INTO tasks VALUES ('old2', 0, 3, '{"role":"task","plane":"local","node":"node-1","devices":[{"device":"GPU-1","index":1,"milli":1000}],"state":"lost","placedAt":"2026-03-01T12:00:01Z","startedAt":"2026-03-01T12:00:02Z","endedAt":"2026-03-01T12:00:04Z"}');
INSERT INTO tasks VALUES ('old3', 0, 0, '{"role":"task","plane":"local","node":"node-1","devices":[{"device":"GPU-2","index":2,"milli":1000}],"state":"running","placedAt":"2026-03-01T12:00:02Z","startedAt":"2026-03-01T12:00:03Z"}');
INSERT INTO tasks VALUES ('old3', 0, 1, '{"role":"task","plane":"local","node":"node-1","devices":[{"device":"GPU-3","index":3,"milli":1000}],"state":"succeeded","placedAt":"2026-03-01T12:00:02Z","startedAt":"2026-03-01T12:00:03Z","endedAt":"2026-03-01T12:00:20Z"}');
INSERT INTO tasks VALUES ('old4', 0, 0, '{"role":"task","plane":"local","node":"node-1","state":"succeeded","placedAt":"2026-03-01T12:00:01Z","startedAt":"2026-03-01T12:00:02Z","endedAt":"2026-03-01T12:00:05Z"}');
INSERT INTO tasks VALUES ('old5', 0, 0, '{"role":"task","plane":"local","node":"node-1","devices":[{"device":"GPU-4","index":4,"milli":1000}],"state":"succeeded","placedAt":"2026-03-01T12:00:03.5Z","startedAt":"2026-03-01T12:00:04.5Z","endedAt":"2026-03-01T12:00:40Z"}');
INSERT INTO tasks VALUES ('old5', 0, 1, '{"role":"task","plane":"local","node":"node-1","devices":[{"device":"GPU-5","index":5,"milli":500}],"state":"failed","placedAt":"2026-03-01T12:00:03.5Z","startedAt":"2026-03-01T12:00:04.5Z","endedAt":"2026-03-01T12:01:00Z"}');
INSERT INTO tasks VALUES ('old6', 0, 0, '{"role":"task","plane":"local","node":"node-1","devices":[{"device":"GPU-6","index":6,"milli":1000}],"state":"failed","placedAt":"2026-03-01T12:00:02Z","startedAt":"2026-03-01T12:00:03Z","endedAt":"2026-03-01T12:00:03Z"}');
INSERT INTO tasks VALUES ('old6', 1, 0, '{"role":"task","plane":"local","node":"node-1","devices":[{"device":"GPU-6","index":6,"milli":1000}],"state":"lost","placedAt":"2026-03-01T12:00:12Z","startedAt":"2026-03-01T12:00:13Z"}');
INSERT INTO tasks VALUES ('old7', 0, 0, '{"role":"task","plane":"local","node":"node-1","devices":[{"device":"GPU-7","index":7,"milli":1000}],"state":"succeeded","placedAt":"2026-03-01T12:00:02Z","startedAt":"2026-03-01T12:00:03Z","endedAt":"2026-03-01T12:00:30.1Z"}');
INSERT INTO tasks VALUES ('old7', 0, 1, '{"role":"task","plane":"local","node":"node-1","devices":[{"device":"GPU-0","index":0,"milli":1000}],"state":"stopping","placedAt":"2026-03-01T12:00:02Z","startedAt":"2026-03-01T12:00:03Z"}');
INSERT INTO transitions VALUES (1, 'old1', 0, 'Submitted', 'queue_open', 'Queued', '', '', '', 'scheduler', 1772366340000001);
INSERT INTO keys VALUES ('ada', 'k', 'h', 'old1', 1772366400000000);
INSERT INTO projects VALUES ('default', '{"name":"default","createdAt":"2026-03-01T11:58:20.000001Z"}');
INSERT INTO projects VALUES ('vision', '{"name":"vision","stopped":true,"note":"by ada","createdAt":"2026-03-01T11:58:20.000001Z"}');
INSERT INTO meta VALUES (1, 1, 1, 'a test');
