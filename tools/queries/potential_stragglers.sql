-- Which ranks come last to collectives?
-- Parameters:
--   :limit  rows (default: 20)
-- Reading: spread is the time from the first member's arrival to the last one's, which is what the
--   first one lost. A rank that is last far more often than its share is a straggler; with equal ranks
--   somebody is last too, by little: look at the spread. Collectives that all members reached at the same
--   instant have no last one, so a run of equal ranks in step gives no rows.
WITH late AS (
  SELECT last_rank AS rank, count(*) AS times_last, sum(last_ready_ns - first_ready_ns) AS spread_ns,
         max(last_ready_ns - first_ready_ns) AS longest_ns
  FROM collective WHERE last_rank IS NOT NULL AND last_ready_ns > first_ready_ns GROUP BY last_rank),
took_part AS (
  SELECT m.rank, count(*) AS collectives FROM collective c JOIN comm_member m USING (group_id)
  WHERE m.rank IN (SELECT rank FROM late) GROUP BY m.rank)
SELECT l.rank, n.name AS node, r.pp AS stage, l.times_last,
       round(100.0 * l.times_last / t.collectives, 2) AS last_pct,
       round(l.spread_ns / 1e6, 3) AS spread_ms, round(l.longest_ns / 1e3, 3) AS longest_us
FROM late l JOIN rank r ON r.rank = l.rank LEFT JOIN node n ON n.id = r.node
LEFT JOIN took_part t ON t.rank = l.rank
ORDER BY l.spread_ns DESC, l.rank LIMIT coalesce(:limit, 20);
