-- How much of each pipeline stage's time is bubble?
-- Parameters:
--   :step  the step to look at (default: the mean over all steps)
-- Reading: bubble is waiting for a neighbour stage that computes, exposed is sending and receiving
--   itself. ideal_pct is (p-1)/(v m+p-1) for p devices, v stages on each (interleaved 1F1B, else 1) and m
--   micro-batches, the bubble of GPipe and of 1F1B when all stages take equally long; more than that points
--   at uneven stages. It is NULL in a trace of level steps, which does not know the number of micro-batches.
WITH m AS (SELECT (SELECT max(microbatch) + 1 FROM event) AS batches,
                  (SELECT count(DISTINCT pp) FROM rank) AS stages,
                  coalesce((SELECT CAST(substr(value, instr(value, 'virtual_stages: ') + 16) AS INTEGER) FROM run
                            WHERE key = 'scenario' AND value LIKE '%virtual_stages: %'), 1) AS parts),
per_stage AS (
  SELECT r.pp, count(DISTINCT r.rank) AS ranks, avg(s.end_ns - s.start_ns) AS step_ns,
         avg(t.pipeline_bubble_ns) AS bubble_ns, avg(t.exposed_pipeline_ns) AS exposed_ns,
         avg(t.compute_ns + t.memory_bound_ns + t.optimizer_ns) AS work_ns
  FROM step_rank t JOIN rank r ON r.rank = t.rank JOIN step s USING (job_id, step)
  WHERE t.step = coalesce(:step, t.step) GROUP BY r.pp)
SELECT pp AS stage, ranks, round(work_ns / 1e6, 3) AS work_ms, round(bubble_ns / 1e6, 3) AS bubble_ms,
       round(exposed_ns / 1e6, 3) AS exposed_pipeline_ms,
       round(100.0 * bubble_ns / step_ns, 2) AS bubble_pct,
       round(100.0 * (stages - 1) / (parts * batches + stages - 1), 2) AS ideal_pct
FROM per_stage JOIN m ORDER BY pp;
