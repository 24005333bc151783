-- What does each stage of the pipeline do when, as one line of text per device?
-- Parameters:
--   :step    which step (default: the last that was traced)
--   :width   characters per line, 100000 at most (default: 4 for each micro-batch and stage, from 100 to 1000)
--   :dp      replica (default: 0); the first tensor rank of each stage is drawn
-- Reading: a digit is a forward of that micro-batch, a small letter its backward (a for micro-batch 0), a
-- capital letter its weight gradients; a micro-batch above 9 is drawn by its last digit; a dot is idle time
-- or communication. A line is the step in time; what is shorter than a character may fall between two: a step
-- of more micro-batches than 1000 characters can show (some 250) needs a larger width.
WITH RECURSIVE
  s(step) AS (SELECT coalesce(:step, (SELECT max(step) FROM step))),
  w(width) AS (
    SELECT CAST(min(100000, coalesce(:width, max(100, min(1000, 4 * (1 + max(coalesce(e.microbatch, 0)) + (SELECT 1 + coalesce(max(pp), 0) FROM rank)))))) AS INTEGER)
    FROM event e, s WHERE e.step = s.step),
  window(t0, t1) AS (SELECT min(e.start_ns), max(e.end_ns) FROM event e, s WHERE e.step = s.step),
  bin(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM bin, w WHERE i + 1 < w.width),
  place(rank, pp, i, t) AS (
    SELECT r.rank, r.pp, bin.i, t0 + CAST((t1 - t0) * (2 * bin.i + 1) / (2.0 * w.width) AS INTEGER)
    FROM rank r, bin, window, w
    WHERE r.pp IS NOT NULL AND coalesce(r.dp, 0) = coalesce(:dp, 0)
      AND r.rank = (SELECT min(q.rank) FROM rank q WHERE q.pp = r.pp AND q.job_id = r.job_id
                      AND coalesce(q.dp, 0) = coalesce(:dp, 0)
                      AND EXISTS (SELECT 1 FROM event x WHERE x.rank = q.rank))),
  hit(rank, pp, i, event_id) AS (
    SELECT p.rank, p.pp, p.i,
           (SELECT e.id FROM event e JOIN kind k ON k.id = e.kind_id
            WHERE e.rank = p.rank AND e.start_ns <= p.t AND k.class = 'compute' AND e.microbatch IS NOT NULL
            ORDER BY e.start_ns DESC LIMIT 1)
    FROM place p),
  drawn(rank, pp, i, glyph) AS (
    SELECT h.rank, h.pp, h.i,
           CASE WHEN e.id IS NULL OR e.end_ns < p.t THEN '.'
                WHEN f.name = 'forward' THEN CAST(e.microbatch % 10 AS TEXT)
                WHEN f.name = 'weight_grad' THEN char(65 + e.microbatch % 10)
                WHEN f.name IN ('backward', 'input_grad', 'recompute') THEN char(97 + e.microbatch % 10)
                ELSE '.' END
    FROM hit h JOIN place p ON p.rank = h.rank AND p.i = h.i
    LEFT JOIN event e ON e.id = h.event_id LEFT JOIN phase f ON f.id = e.phase_id)
SELECT pp AS device, group_concat(glyph, '') AS step
FROM (SELECT * FROM drawn ORDER BY pp, i) GROUP BY pp ORDER BY pp;
