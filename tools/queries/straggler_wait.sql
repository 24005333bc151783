-- Who waits for whom?
-- Parameters:
--   :step   the step to look at (default: the last one)
--   :limit  rows (default: 20)
-- Reading: operations of `rank` that were ready themselves but started only when an operation of
--   `waited_for` ended (collectives and receives); for_its is the kind of
--   that operation (or of the one before, where it took no time).
WITH p AS (SELECT coalesce(:step, (SELECT max(step) FROM step), (SELECT max(step) FROM event)) AS step),
w AS (SELECT e.rank, coalesce(e.cause_rank, c.rank) AS waited_for, e.wait_ns, e.axis_id,
             CASE WHEN c.end_ns > c.start_ns THEN c.kind_id ELSE coalesce(d.kind_id, c.kind_id) END AS kind_id
      FROM event e JOIN p ON e.step = p.step LEFT JOIN event c ON c.id = e.cause_id
      LEFT JOIN event d ON d.id = c.cause_id
      WHERE e.wait_ns > 0)
SELECT w.rank, w.waited_for, n.name AS its_node, k.name AS for_its, a.name AS axis, count(*) AS waits,
       round(sum(w.wait_ns) / 1e6, 3) AS wait_ms, round(max(w.wait_ns) / 1e3, 3) AS longest_us
FROM w LEFT JOIN rank r ON r.rank = w.waited_for LEFT JOIN node n ON n.id = r.node
LEFT JOIN kind k ON k.id = w.kind_id LEFT JOIN axis a ON a.id = w.axis_id
WHERE w.waited_for <> w.rank
GROUP BY w.rank, w.waited_for, w.kind_id, w.axis_id
ORDER BY sum(w.wait_ns) DESC, w.rank, w.waited_for LIMIT coalesce(:limit, 20);
