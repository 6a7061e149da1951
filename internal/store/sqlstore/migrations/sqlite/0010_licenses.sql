-- What is counted for the whole site: seats of a program, and the like.
CREATE TABLE licenses (
    name TEXT PRIMARY KEY,
    body TEXT NOT NULL
) WITHOUT ROWID;
