-- What did each stream of a rank do?
-- Parameters:
--   :rank  the rank (default: the first that was traced)
--   :step  the step to look at (default: the last one)
-- Reading: one row per stream and kind; busy is the share of the step in which the stream ran such
--   operations (streams run beside each other, so the shares of several may exceed 100 %); wait is time
--   its operations were ready and did not run.
WITH p AS (SELECT coalesce(:step, (SELECT max(step) FROM step), (SELECT max(step) FROM event)) AS step,
                  coalesce(:rank, (SELECT min(rank) FROM rank_stream)) AS rank),
w AS (SELECT p.*, (SELECT min(start_ns) FROM step s WHERE s.step = p.step) AS start_ns,
             (SELECT max(end_ns) FROM step s WHERE s.step = p.step) AS end_ns FROM p)
SELECT w.rank, s.name AS stream, k.name AS kind, a.name AS axis, count(*) AS operations,
       round(sum(e.end_ns - e.start_ns) / 1e6, 3) AS busy_ms,
       round(100.0 * sum(e.end_ns - e.start_ns) / (w.end_ns - w.start_ns), 2) AS busy_pct,
       round(sum(e.wait_ns) / 1e6, 3) AS wait_ms, round(sum(e.slowed_ns) / 1e6, 3) AS slowed_ms
FROM w JOIN event e ON e.step = w.step AND +e.rank = w.rank JOIN stream s ON s.id = e.stream_id
JOIN kind k ON k.id = e.kind_id LEFT JOIN axis a ON a.id = e.axis_id
GROUP BY e.stream_id, e.kind_id, e.axis_id
ORDER BY e.stream_id, sum(e.end_ns - e.start_ns) DESC, k.name;
