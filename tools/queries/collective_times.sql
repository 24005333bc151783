-- How long do collectives take, and how much bandwidth do they reach?
-- Parameters:
--   :step  the step to look at (default: the last one)
-- Reading: one row per kind, axis, group size and message size. Time is from the last member's arrival
--   to the end, algbw is message size over time; spread is the mean time from the first arrival to the
--   last.
WITH p AS (SELECT coalesce(:step, (SELECT max(step) FROM step), (SELECT max(step) FROM event)) AS step),
one AS (SELECT c.id, c.group_id, c.message_bytes, c.algorithm, c.protocol, e.kind_id,
               min(e.start_ns) AS start_ns, max(e.end_ns) AS end_ns,
               c.last_ready_ns - c.first_ready_ns AS spread_ns
        FROM event e JOIN p ON e.step = p.step JOIN collective c ON c.id = e.collective_id GROUP BY c.id)
SELECT k.name AS kind, a.name AS axis, g.size AS ranks, one.algorithm, one.protocol,
       round(one.message_bytes / 1e6, 3) AS message_mb, count(*) AS collectives,
       round(avg(end_ns - start_ns) / 1e3, 3) AS mean_us, round(max(end_ns - start_ns) / 1e3, 3) AS longest_us,
       round(1.0 * sum(one.message_bytes) / nullif(sum(end_ns - start_ns), 0), 2) AS algbw_gb_per_s,
       round(avg(spread_ns) / 1e3, 3) AS spread_us
FROM one JOIN kind k ON k.id = one.kind_id JOIN comm_group g ON g.id = one.group_id
LEFT JOIN axis a ON a.id = g.axis_id
GROUP BY one.kind_id, g.axis_id, g.size, one.algorithm, one.protocol, one.message_bytes
ORDER BY sum(end_ns - start_ns) DESC, k.name, one.message_bytes;
