-- Who may do what: users, roles, access rules, tokens and whether they count, by sort.
CREATE TABLE access (
    sort TEXT NOT NULL,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (sort, name)
) WITHOUT ROWID;

-- Who did what. Rows are only ever added; the hash of each covers the one before.
CREATE TABLE audit (
    seq    INTEGER PRIMARY KEY,
    at_us  INTEGER NOT NULL,
    actor  TEXT NOT NULL,
    noun   TEXT NOT NULL,
    action TEXT NOT NULL,
    result TEXT NOT NULL,
    body   TEXT NOT NULL
);
CREATE INDEX audit_by_actor ON audit (actor, seq);

-- The last of them that was written, beside the rows: those at the end cannot be taken out in silence.
CREATE TABLE audit_head (
    one  INTEGER PRIMARY KEY CHECK (one = 1),
    seq  INTEGER NOT NULL,
    hash TEXT NOT NULL
);
INSERT INTO audit_head (one, seq, hash) VALUES (1, 0, '');
