-- How much of each rank's communication is hidden behind computing?
-- Parameters:
--   :step  the step to look at (default: the last one)
--   :rank  one rank only (default: all that were traced)
-- Reading: overlap_pct is the share of communication time during which the rank computes; 100 means
--   that communication costs nothing, 0 that all of it is exposed. Waiting for partners is not counted, and
--   two operations that are exposed at once both count, so this can be more than time_breakdown says.
WITH p AS (SELECT coalesce(:step, (SELECT max(step) FROM step), (SELECT max(step) FROM event)) AS step)
SELECT e.rank, a.name AS axis, count(*) AS operations,
       round(sum(e.end_ns - e.start_ns) / 1e6, 3) AS communication_ms,
       round(sum(e.exposed_ns) / 1e6, 3) AS exposed_ms,
       round(100.0 * (1 - 1.0 * sum(e.exposed_ns) / nullif(sum(e.end_ns - e.start_ns), 0)), 2)
         AS overlap_pct
FROM event e JOIN p ON e.step = p.step JOIN kind k ON k.id = e.kind_id
LEFT JOIN axis a ON a.id = e.axis_id
WHERE k.class = 'communication' AND k.name <> 'message' AND e.axis_id IS NOT NULL AND e.rank = coalesce(:rank, e.rank)
GROUP BY e.rank, e.axis_id ORDER BY e.rank, e.axis_id;
