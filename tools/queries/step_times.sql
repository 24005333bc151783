-- How long does each step take, and what changes from step to step?
-- Reading: the first step may differ (nothing is prefetched yet); later ones should agree unless
--   something varies. Times are means over ranks.
SELECT job.name AS job, step, round(s.start_ns / 1e6, 3) AS start_ms,
       round((end_ns - s.start_ns) / 1e6, 3) AS step_ms,
       round(tokens / ((end_ns - s.start_ns) / 1e9), 1) AS tokens_per_s,
       round((compute_ns + memory_bound_ns + optimizer_ns) / 1e6, 3) AS busy_ms,
       round((exposed_tensor_ns + exposed_data_ns + exposed_zero_ns + exposed_pipeline_ns
              + exposed_expert_ns + exposed_context_ns + exposed_server_ns
              + exposed_offload_ns) / 1e6, 3) AS exposed_ms,
       round(pipeline_bubble_ns / 1e6, 3) AS bubble_ms,
       round(straggler_wait_ns / 1e6, 3) AS straggler_wait_ms
FROM step s JOIN job ON job.id = s.job_id ORDER BY s.job_id, step;
