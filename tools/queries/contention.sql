-- Which resources slow operations down because they are shared?
-- Parameters:
--   :step   the step to look at (default: the last one)
--   :limit  rows (default: 20)
-- Reading: slowed is how much longer operations took than alone, charged to the resource that held
--   their rate down. Nothing here means that nothing met anything.
WITH p AS (SELECT coalesce(:step, (SELECT max(step) FROM step), (SELECT max(step) FROM event)) AS step)
SELECT b.name AS resource, b.kind AS resource_kind, k.name AS operations_of_kind, count(*) AS operations,
       round(sum(e.slowed_ns) / 1e6, 3) AS slowed_ms,
       round(100.0 * sum(e.slowed_ns) / sum(e.end_ns - e.start_ns), 2) AS slowed_pct
FROM event e JOIN p ON e.step = p.step JOIN kind k ON k.id = e.kind_id
LEFT JOIN resource b ON b.id = e.bottleneck_id
WHERE e.slowed_ns > 0
GROUP BY e.bottleneck_id, e.kind_id
ORDER BY sum(e.slowed_ns) DESC, b.name, k.name LIMIT coalesce(:limit, 20);
