-- Which communication is exposed, by axis of parallelism and kind?
-- Parameters:
--   :step  the step to look at (default: the last one)
-- Reading: exposed is time during which a rank communicates and computes nothing, per rank (each traced
--   rank counted for those it stands for); what would be gained if this communication were free.
WITH p AS (SELECT coalesce(:step, (SELECT max(step) FROM step), (SELECT max(step) FROM event)) AS step),
w AS (SELECT e.*, c.size AS weight FROM event e JOIN p ON e.step = p.step
      JOIN rank r ON r.rank = e.rank JOIN rank_class c ON c.class = r.class),
ranks AS (SELECT sum(c.size) AS n FROM rank_class c
          WHERE EXISTS (SELECT 1 FROM rank_stream s WHERE s.rank = c.rank))
SELECT a.name AS axis, k.name AS kind, sum(w.weight) AS operations,
       round(sum(w.weight * (w.end_ns - w.start_ns)) / 1e6 / ranks.n, 3) AS time_ms_per_rank,
       round(sum(w.weight * w.exposed_ns) / 1e6 / ranks.n, 3) AS exposed_ms_per_rank,
       round(100.0 * sum(w.weight * w.exposed_ns) / ranks.n
             / (SELECT max(s.end_ns - s.start_ns) FROM step s JOIN p USING (step)), 2) AS share_of_step_pct,
       round(sum(w.weight * w.bytes) / 1e9 / ranks.n, 4) AS sent_gb_per_rank
FROM w JOIN ranks JOIN kind k ON k.id = w.kind_id LEFT JOIN axis a ON a.id = w.axis_id
WHERE k.class = 'communication' AND k.name <> 'message'
GROUP BY w.axis_id, w.kind_id ORDER BY sum(w.weight * w.exposed_ns) DESC, a.name, k.name;
