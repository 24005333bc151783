-- How long does each layer compute, by phase?
-- Parameters:
--   :step  the step to look at (default: the last one)
--   :rank  one rank only (default: all that were traced)
-- Reading: time of kernels per traced rank that has the layer, summed over micro-batches; a layer that
--   stands out is heavier or slowed by communication beside it.
WITH p AS (SELECT coalesce(:step, (SELECT max(step) FROM step), (SELECT max(step) FROM event)) AS step)
SELECT e.layer, f.name AS phase, count(DISTINCT e.rank) AS ranks, count(*) AS kernels,
       round(sum(e.end_ns - e.start_ns) / 1e6 / count(DISTINCT e.rank), 4) AS time_ms_per_rank,
       round(sum(e.slowed_ns) / 1e6 / count(DISTINCT e.rank), 4) AS slowed_ms_per_rank,
       round(sum(e.flops) / nullif(sum(e.end_ns - e.start_ns), 0) / 1e3, 2) AS tflop_per_s
FROM event e JOIN p ON e.step = p.step JOIN kind k ON k.id = e.kind_id
LEFT JOIN phase f ON f.id = e.phase_id
WHERE (k.class = 'compute' OR k.name = 'device_copy') AND e.layer IS NOT NULL AND e.rank = coalesce(:rank, e.rank)
GROUP BY e.layer, e.phase_id ORDER BY e.layer, e.phase_id;
