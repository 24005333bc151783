-- Which kinds of operations take the time, and how well do they use the hardware?
-- Parameters:
--   :step  the step to look at (default: the last one)
--   :rank  one rank only (default: all that were traced)
-- Reading: tflop_per_s and gb_per_s are what the operations reached while they ran, per rank; compare
--   with the peak of the accelerator. slowed is time lost to others on the same resource.
WITH p AS (SELECT coalesce(:step, (SELECT max(step) FROM step), (SELECT max(step) FROM event)) AS step),
g AS (SELECT e.kind_id, count(*) AS n, sum(e.end_ns - e.start_ns) AS ns, sum(e.slowed_ns) AS slowed_ns,
             sum(e.flops) AS flops, sum(e.bytes) AS bytes
      FROM event e JOIN p ON e.step = p.step WHERE e.rank = coalesce(:rank, e.rank) GROUP BY e.kind_id)
SELECT k.name AS kind, k.class, n AS operations, round(ns / 1e6, 3) AS time_ms,
       round(100.0 * ns / sum(ns) OVER (PARTITION BY k.class), 2) AS share_of_class_pct,
       round(ns / 1e3 / n, 3) AS mean_us, round(slowed_ns / 1e6, 3) AS slowed_ms,
       round(flops / nullif(ns, 0) / 1e3, 2) AS tflop_per_s, round(1.0 * bytes / nullif(ns, 0), 2) AS gb_per_s
FROM g JOIN kind k ON k.id = g.kind_id ORDER BY ns DESC, k.name;
