CREATE TABLE reservations (
    name TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL
);
