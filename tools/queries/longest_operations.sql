-- Which single operations take longest?
-- Parameters:
--   :step   the step to look at (default: the last one)
--   :class  compute, communication, memory, host, storage or wait only (default: all)
--   :rank   one rank only (default: all that were traced)
--   :limit  rows (default: 20)
-- Reading: wait is from being ready to starting (for partners or a resource), slowed what others on the
--   same resource cost it; bottleneck is the resource that held its rate down.
WITH p AS (SELECT coalesce(:step, (SELECT max(step) FROM step), (SELECT max(step) FROM event)) AS step)
SELECT e.id, e.rank, s.name AS stream, k.name AS kind, a.name AS axis, f.name AS phase, n.value AS name,
       e.layer, e.microbatch, round(e.start_ns / 1e6, 4) AS start_ms,
       round((e.end_ns - e.start_ns) / 1e3, 3) AS duration_us, round(e.wait_ns / 1e3, 3) AS wait_us,
       round(e.slowed_ns / 1e3, 3) AS slowed_us, b.name AS bottleneck
FROM event e JOIN p ON e.step = p.step JOIN stream s ON s.id = e.stream_id
JOIN kind k ON k.id = e.kind_id JOIN string n ON n.id = e.name_id
LEFT JOIN axis a ON a.id = e.axis_id LEFT JOIN phase f ON f.id = e.phase_id
LEFT JOIN resource b ON b.id = e.bottleneck_id
WHERE k.class = coalesce(:class, k.class) AND e.rank = coalesce(:rank, e.rank)
ORDER BY e.end_ns - e.start_ns DESC, e.id LIMIT coalesce(:limit, 20);
