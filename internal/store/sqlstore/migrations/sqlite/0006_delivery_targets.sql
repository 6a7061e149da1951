-- To whom a delivery goes, so that one receiver with much that waits hides no
-- other. What was written before is of a receiver by its address, as
-- core.Delivery.Target has it.
ALTER TABLE deliveries ADD COLUMN target TEXT NOT NULL DEFAULT '';
UPDATE deliveries SET target = CASE
    WHEN body ->> '$.to.email' IS NOT NULL THEN 'mail'
    WHEN body ->> '$.to.slack' IS NOT NULL AND instr(body ->> '$.to.slack', '://') = 0 THEN (body ->> '$.to.slack') || ' of ' || user_name
    ELSE COALESCE(body ->> '$.to.webhook', body ->> '$.to.slack', '')
END WHERE next_us IS NOT NULL;
CREATE INDEX deliveries_target ON deliveries (target, next_us) WHERE next_us IS NOT NULL;
