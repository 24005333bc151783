-- Which communication groups expose most time?
-- Parameters:
--   :step   the step to look at (default: the last one)
--   :limit  rows (default: 20)
-- Reading: one row per group of ranks; exposed is summed over its traced members. last_rank is the
--   member that most often came last, and wait what members spent waiting for the last one.
WITH p AS (SELECT coalesce(:step, (SELECT max(step) FROM step), (SELECT max(step) FROM event)) AS step),
c AS (SELECT k.group_id, e.rank, e.exposed_ns, e.end_ns - e.start_ns AS ns, e.wait_ns, k.id
      FROM event e JOIN p ON e.step = p.step JOIN collective k ON k.id = e.collective_id),
last AS (SELECT group_id, last_rank, row_number() OVER (PARTITION BY group_id ORDER BY count(*) DESC, last_rank) AS n
         FROM collective GROUP BY group_id, last_rank)
SELECT c.group_id AS "group", a.name AS axis, g.size AS ranks,
       (SELECT min(rank) FROM comm_member m WHERE m.group_id = c.group_id) AS first_rank,
       count(DISTINCT c.id) AS collectives, count(DISTINCT c.rank) AS traced_ranks,
       round(sum(c.ns) / 1e6, 3) AS time_ms, round(sum(c.exposed_ns) / 1e6, 3) AS exposed_ms,
       round(sum(c.wait_ns) / 1e6, 3) AS wait_ms, last.last_rank
FROM c JOIN comm_group g ON g.id = c.group_id LEFT JOIN axis a ON a.id = g.axis_id
LEFT JOIN last ON last.group_id = c.group_id AND last.n = 1
GROUP BY c.group_id ORDER BY sum(c.exposed_ns) DESC, c.group_id LIMIT coalesce(:limit, 20);
