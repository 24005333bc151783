-- Which chain of operations made the step as long as it was?
-- Parameters:
--   :step  the step to look at (default: the last one)
-- Reading: read from top to bottom; each operation let the next one start. Shortening one of them
--   shortens the step until another chain is the longest. gap_us is time between the two that no
--   operation accounts for (launching, waiting for a resource). Operations on ranks that were not
--   traced are shown by their representative, and real_rank names the rank itself.
--   No rows: there are no operations, or their causes go in a circle,
--   which Lockstep does not write.
WITH RECURSIVE
p AS (SELECT coalesce(:step, (SELECT max(step) FROM step), (SELECT max(step) FROM event)) AS step),
w AS (SELECT p.step, coalesce((SELECT min(start_ns) FROM step s WHERE s.step = p.step), 0) AS start_ns FROM p),
n AS (SELECT count(*) AS events FROM event),
path(id, depth, real_rank) AS (
  SELECT (SELECT e.id FROM event e WHERE e.step = w.step ORDER BY e.end_ns DESC, e.id LIMIT 1), 0, NULL FROM w
  UNION ALL
  SELECT e.cause_id, path.depth + 1, e.cause_rank FROM path JOIN event e ON e.id = path.id JOIN w JOIN n
  WHERE e.cause_id IS NOT NULL AND e.start_ns > w.start_ns AND path.depth < n.events),
circle AS (SELECT 1 FROM path JOIN n JOIN event e ON e.id = path.id WHERE path.depth = n.events)
SELECT e.rank, path.real_rank, s.name AS stream, k.name AS kind, n.value AS name, e.layer, e.microbatch,
       round((e.start_ns - w.start_ns) / 1e6, 4) AS start_ms,
       round((e.end_ns - e.start_ns) / 1e3, 3) AS duration_us,
       round((e.start_ns - lag(e.end_ns) OVER (ORDER BY path.depth DESC)) / 1e3, 3) AS gap_us,
       b.name AS bottleneck
FROM path JOIN w JOIN event e ON e.id = path.id JOIN stream s ON s.id = e.stream_id
JOIN kind k ON k.id = e.kind_id JOIN string n ON n.id = e.name_id
LEFT JOIN resource b ON b.id = e.bottleneck_id
WHERE e.end_ns > w.start_ns AND NOT EXISTS (SELECT 1 FROM circle)
ORDER BY path.depth DESC;
