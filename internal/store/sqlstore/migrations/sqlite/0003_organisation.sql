-- Projects of former versions were stopped or not, and had no rank.
UPDATE projects SET body = json_set(
    CASE WHEN body ->> '$.stopped' = 1 THEN json_set(json_remove(body, '$.stopped'), '$.stopMode', 'hold')
        ELSE json_remove(body, '$.stopped') END,
    '$.priority', 100);

CREATE TABLE pools (
    name TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL
);

-- What administrators have said of nodes; what nodes there are the planes know.
CREATE TABLE nodes (
    id   TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL
);
