-- Which ranks are slowest, and how much do the others wait for them?
-- Parameters:
--   :step   the step to look at (default: the mean over all steps)
--   :limit  rows (default: 20)
-- Reading: work is the time a rank computes; work_vs_mean_pct above 0 means slower than the mean of its
--   pipeline stage; caused_wait is the time operations of other ranks, ready themselves, waited for it.
WITH per_rank AS (
  SELECT s.rank, avg(compute_ns + memory_bound_ns + optimizer_ns) AS work_ns,
         avg(straggler_wait_ns) AS wait_ns, avg(caused_wait_ns) AS caused_ns
  FROM step_rank s WHERE step = coalesce(:step, step) GROUP BY s.rank)
SELECT p.rank, n.name AS node, r.device, r.pp AS stage, round(work_ns / 1e6, 3) AS work_ms,
       round(100.0 * (work_ns / avg(work_ns) OVER (PARTITION BY r.job_id, r.pp) - 1), 2)
         AS work_vs_mean_pct,
       round(wait_ns / 1e6, 3) AS straggler_wait_ms, round(caused_ns / 1e6, 3) AS caused_wait_ms
FROM per_rank p JOIN rank r ON r.rank = p.rank LEFT JOIN node n ON n.id = r.node
ORDER BY caused_ns DESC, work_ns DESC, p.rank LIMIT coalesce(:limit, 20);
