-- What does each rank's compute stream wait for while it is idle?
-- Parameters:
--   :step  the step to look at (default: the last one)
--   :rank  one rank only (default: all that were traced)
-- Reading: gaps between operations of the compute stream, by the operation whose end closed them:
--   its kind, and whether it ran on this rank or on another. (As Holistic Trace Analysis does with
--   host wait, kernel wait and other wait.)
WITH p AS (SELECT coalesce(:step, (SELECT max(step) FROM step), (SELECT max(step) FROM event)) AS step),
main AS (
  SELECT e.rank, e.start_ns, e.cause_id, e.cause_rank, e.cause_resource_id,
         lag(e.end_ns, 1, (SELECT min(start_ns) FROM step s WHERE s.step = p.step))
           OVER (PARTITION BY e.rank ORDER BY e.start_ns, e.id) AS free_ns
  FROM p JOIN event e ON e.step = p.step
  JOIN rank_stream s ON s.rank = e.rank AND s.stream_id = e.stream_id AND s.position = 0
  WHERE e.rank = coalesce(:rank, e.rank))
SELECT m.rank, coalesce(k.class, 'nothing traced') AS waited_for, k.name AS kind, a.name AS axis,
       CASE WHEN c.id IS NULL THEN NULL WHEN coalesce(m.cause_rank, c.rank) = m.rank THEN 'this rank'
            ELSE 'another rank' END AS ran_on,
       count(*) AS gaps, round(sum(m.start_ns - m.free_ns) / 1e6, 3) AS idle_ms,
       round(max(m.start_ns - m.free_ns) / 1e3, 3) AS longest_us
FROM main m LEFT JOIN event c ON c.id = m.cause_id LEFT JOIN kind k ON k.id = c.kind_id
LEFT JOIN axis a ON a.id = c.axis_id
WHERE m.start_ns > m.free_ns
GROUP BY m.rank, 2, 3, 4, 5 ORDER BY m.rank, sum(m.start_ns - m.free_ns) DESC, 3, 4, 5;
