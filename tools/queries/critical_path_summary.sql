-- What is the critical path of a step made of?
-- Parameters:
--   :step  the step to look at (default: the last one)
-- Reading: time on the chain of operations that made the step as long as it was, by kind and axis; the
--   row (gaps) is time between operations of the chain. Only what is on the path is worth speeding up.
--   No rows: there are no operations, or their causes go in a circle,
--   which Lockstep does not write.
WITH RECURSIVE
p AS (SELECT coalesce(:step, (SELECT max(step) FROM step), (SELECT max(step) FROM event)) AS step),
w AS (SELECT p.step, coalesce((SELECT min(start_ns) FROM step s WHERE s.step = p.step), 0) AS start_ns FROM p),
n AS (SELECT count(*) AS events FROM event),
path(id, depth) AS (
  SELECT (SELECT e.id FROM event e WHERE e.step = w.step ORDER BY e.end_ns DESC, e.id LIMIT 1), 0 FROM w
  UNION ALL
  SELECT e.cause_id, path.depth + 1 FROM path JOIN event e ON e.id = path.id JOIN w JOIN n
  WHERE e.cause_id IS NOT NULL AND e.start_ns > w.start_ns AND path.depth < n.events),
circle AS (SELECT 1 FROM path JOIN n JOIN event e ON e.id = path.id WHERE path.depth = n.events),
on_path AS (
  SELECT e.rank, k.name AS kind, a.name AS axis,
         e.end_ns - max(e.start_ns, w.start_ns) AS ns,
         max(e.start_ns, w.start_ns)
           - coalesce(lag(e.end_ns) OVER (ORDER BY path.depth DESC), w.start_ns) AS gap_ns
  FROM path JOIN w JOIN event e ON e.id = path.id JOIN kind k ON k.id = e.kind_id
  LEFT JOIN axis a ON a.id = e.axis_id
  WHERE e.end_ns > w.start_ns AND NOT EXISTS (SELECT 1 FROM circle)),
parts AS (
  SELECT kind, axis, count(*) AS operations, count(DISTINCT rank) AS ranks, sum(ns) AS ns
  FROM on_path GROUP BY kind, axis
  UNION ALL SELECT '(gaps)', NULL, count(*), NULL, sum(gap_ns) FROM on_path WHERE gap_ns > 0)
SELECT kind, axis, operations, ranks, round(ns / 1e6, 4) AS time_ms,
       round(100.0 * ns / sum(ns) OVER (), 2) AS share_pct
FROM parts WHERE operations > 0 ORDER BY ns DESC, kind, axis;
