-- How does each rank split its time into computing, exposed communication and idling?
-- Parameters:
--   :step  the step to look at (default: all steps)
-- Reading: the three shares sum to 100 %. Idle is waiting: pipeline bubble, stragglers, input,
--   checkpoint, recovery. (As Holistic Trace Analysis does: idle, compute, non-compute.)
WITH per_rank AS (
  SELECT r.rank, sum(s.end_ns - s.start_ns) AS total_ns,
         sum(r.compute_ns + r.memory_bound_ns + r.optimizer_ns) AS compute_ns,
         sum(r.exposed_tensor_ns + r.exposed_data_ns + r.exposed_zero_ns + r.exposed_pipeline_ns
             + r.exposed_expert_ns + r.exposed_context_ns + r.exposed_server_ns
             + r.exposed_offload_ns) AS exposed_ns
  FROM step_rank r JOIN step s USING (job_id, step)
  WHERE step = coalesce(:step, step) GROUP BY r.rank)
SELECT rank, round(total_ns / 1e6, 3) AS total_ms, round(compute_ns / 1e6, 3) AS compute_ms,
       round(exposed_ns / 1e6, 3) AS non_compute_ms,
       round((total_ns - compute_ns - exposed_ns) / 1e6, 3) AS idle_ms,
       round(100.0 * compute_ns / total_ns, 2) AS compute_pct,
       round(100.0 * exposed_ns / total_ns, 2) AS non_compute_pct,
       round(100.0 * (total_ns - compute_ns - exposed_ns) / total_ns, 2) AS idle_pct
FROM per_rank ORDER BY rank;
