-- Why a workload left its place, as programs read it, and for whom. Old steps have
-- neither.
ALTER TABLE transitions ADD COLUMN cause TEXT NOT NULL DEFAULT '';
ALTER TABLE transitions ADD COLUMN left_for TEXT NOT NULL DEFAULT '';
