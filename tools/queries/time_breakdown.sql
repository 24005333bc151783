-- Where does the time of a step go, in the mean over ranks?
-- Parameters:
--   :step  the step to look at (default: the mean over all steps)
-- Reading: the parts sum to the step. Only compute, memory_bound and optimizer are work; exposed_X is
--   communication on axis X during which a rank computes nothing.
WITH chosen AS (SELECT * FROM step WHERE step = coalesce(:step, step)),
parts(part, ns) AS (
  SELECT 'compute', avg(compute_ns) FROM chosen
  UNION ALL SELECT 'memory_bound', avg(memory_bound_ns) FROM chosen
  UNION ALL SELECT 'exposed_tensor', avg(exposed_tensor_ns) FROM chosen
  UNION ALL SELECT 'exposed_data', avg(exposed_data_ns) FROM chosen
  UNION ALL SELECT 'exposed_zero', avg(exposed_zero_ns) FROM chosen
  UNION ALL SELECT 'exposed_pipeline', avg(exposed_pipeline_ns) FROM chosen
  UNION ALL SELECT 'exposed_expert', avg(exposed_expert_ns) FROM chosen
  UNION ALL SELECT 'exposed_context', avg(exposed_context_ns) FROM chosen
  UNION ALL SELECT 'exposed_server', avg(exposed_server_ns) FROM chosen
  UNION ALL SELECT 'exposed_offload', avg(exposed_offload_ns) FROM chosen
  UNION ALL SELECT 'pipeline_bubble', avg(pipeline_bubble_ns) FROM chosen
  UNION ALL SELECT 'straggler_wait', avg(straggler_wait_ns) FROM chosen
  UNION ALL SELECT 'optimizer', avg(optimizer_ns) FROM chosen
  UNION ALL SELECT 'input', avg(input_ns) FROM chosen
  UNION ALL SELECT 'checkpoint', avg(checkpoint_ns) FROM chosen
  UNION ALL SELECT 'recovery', avg(recovery_ns) FROM chosen
  UNION ALL SELECT 'other', avg(other_ns) FROM chosen)
SELECT part, round(ns / 1e6, 3) AS time_ms,
       round(100.0 * ns / (SELECT avg(end_ns - start_ns) FROM chosen), 2) AS share_pct
FROM parts WHERE ns > 0 ORDER BY ns DESC;
