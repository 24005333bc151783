-- What happened when?
-- Parameters:
--   :from  day (default: 0)
--   :to    day (default: 1)
-- Reading: the phases of replication 0 between two days: what the job did, on how many GPUs, and the cause of
--   the failure that it recovers from.
SELECT round(i.start_us / 8.64e10, 4) AS day, i.kind, round((i.end_us - i.start_us) / 6e7, 2) AS minutes,
       i.gpus, i.spares_free, i.steps, f.cause
FROM interval i LEFT JOIN fault f ON f.id = i.fault_id
WHERE i.replica = 0 AND i.start_us < coalesce(:to, 1) * 8.64e10 AND i.end_us > coalesce(:from, 0) * 8.64e10
ORDER BY i.start_us, i.id;
