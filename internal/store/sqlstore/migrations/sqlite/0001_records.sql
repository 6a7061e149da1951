-- What is written once about a workload and what changes with every step share
-- a row, so that a listing reads one row; the document has its own table, so
-- that a step never rewrites it. Times are microseconds since 1970, UTC.
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

-- Name first: it serves look-ups, the rule that a project has no two present
-- workloads of one name, and searches by prefix with or without a project.
CREATE UNIQUE INDEX workloads_name ON workloads (name, project) WHERE deleted = 0;
-- "deleted" is in these so that a listing skips tombstones without reading rows.
CREATE INDEX workloads_present ON workloads (seq) WHERE deleted = 0;
CREATE INDEX workloads_project ON workloads (project, seq, deleted);
CREATE INDEX workloads_user ON workloads (user_name, seq, deleted);
CREATE INDEX workloads_kind ON workloads (kind, seq, deleted);
CREATE INDEX workloads_created ON workloads (created_us, seq, deleted);
CREATE INDEX workloads_phase ON workloads (phase, seq);
CREATE INDEX workloads_live ON workloads (seq) WHERE live = 1;
-- What a leader keeps in memory: the live ones, and those with a timer.
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

-- One row: which revision was last, and who may write the next.
CREATE TABLE meta (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    revision INTEGER NOT NULL,
    term     INTEGER NOT NULL,
    holder   TEXT    NOT NULL
);
INSERT INTO meta (one, revision, term, holder) VALUES (1, 0, 0, '');
