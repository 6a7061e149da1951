-- By this name clusters know whose they are.
ALTER TABLE meta ADD COLUMN installation TEXT NOT NULL DEFAULT '';
UPDATE meta SET installation = lower(hex(randomblob(8)));
