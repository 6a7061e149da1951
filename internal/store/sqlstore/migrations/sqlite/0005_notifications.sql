-- Who asked to be told of the own workloads.
CREATE TABLE subscriptions (
    user_name TEXT NOT NULL,
    name      TEXT NOT NULL,
    body      TEXT NOT NULL,
    PRIMARY KEY (user_name, name)
) WITHOUT ROWID;

-- What is on its way to receivers, and what became of it. next_us is null for
-- what is not tried any more.
CREATE TABLE deliveries (
    seq       INTEGER PRIMARY KEY,
    id        TEXT    NOT NULL UNIQUE,
    user_name TEXT    NOT NULL,
    state     TEXT    NOT NULL,
    at_us     INTEGER NOT NULL,
    next_us   INTEGER,
    body      TEXT    NOT NULL
);
CREATE INDEX deliveries_due ON deliveries (next_us) WHERE next_us IS NOT NULL;
CREATE INDEX deliveries_user ON deliveries (user_name, seq);
CREATE INDEX deliveries_over ON deliveries (at_us) WHERE next_us IS NULL;
