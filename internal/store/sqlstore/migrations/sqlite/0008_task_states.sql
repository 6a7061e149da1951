-- As what a task counts by its last run: its state, pending where it waits to be
-- run again, nothing where others have replaced it. Without it, whoever wants a
-- few tasks of a hundred thousand would read the record of each.
ALTER TABLE tasks ADD COLUMN stands TEXT NOT NULL DEFAULT '';
UPDATE tasks SET stands = CASE WHEN COALESCE(json_extract(body, '$.closed'), 0) THEN ''
    WHEN COALESCE(json_extract(body, '$.again'), 0) THEN 'pending' ELSE json_extract(body, '$.state') END;
