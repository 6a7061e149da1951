-- Parts of documents that workloads are made of.
CREATE TABLE templates (
    project TEXT NOT NULL,
    kind    TEXT NOT NULL,
    name    TEXT NOT NULL,
    body    TEXT NOT NULL,
    PRIMARY KEY (project, kind, name)
) WITHOUT ROWID;
