-- How does the memory of a rank rise and fall, by what it holds?
-- Parameters:
--   :rank     the rank (default: the first that was traced)
--   :from_ms  start of the window (default: the beginning)
--   :to_ms    end of the window (default: the end)
-- Reading: one row per instant at which something was claimed or released; each row holds until the next.
WITH p AS (SELECT coalesce(:rank, (SELECT min(rank) FROM rank_stream)) AS rank),
change AS (
  SELECT s.t_ns, substr(n.value, 8) AS kind,
         s.value - lag(s.value, 1, 0) OVER (PARTITION BY s.name_id ORDER BY s.t_ns) AS bytes
  FROM sample s JOIN p ON s.rank = p.rank JOIN string n ON n.id = s.name_id
  WHERE s.name_id IN (SELECT id FROM string WHERE value GLOB 'memory_*')),
held AS (
  SELECT t_ns, sum(sum(bytes)) OVER w AS total,
         sum(sum(CASE kind WHEN 'parameters' THEN bytes END)) OVER w AS parameters,
         sum(sum(CASE kind WHEN 'gradients' THEN bytes END)) OVER w AS gradients,
         sum(sum(CASE kind WHEN 'optimizer' THEN bytes END)) OVER w AS optimizer,
         sum(sum(CASE kind WHEN 'activations' THEN bytes END)) OVER w AS activations,
         sum(sum(CASE kind WHEN 'buffers' THEN bytes END)) OVER w AS buffers
  FROM change GROUP BY t_ns WINDOW w AS (ORDER BY t_ns ROWS UNBOUNDED PRECEDING))
SELECT round(t_ns / 1e6, 4) AS t_ms, round(total / 1e9, 4) AS total_gb,
       round(parameters / 1e9, 4) AS parameters_gb, round(gradients / 1e9, 4) AS gradients_gb,
       round(optimizer / 1e9, 4) AS optimizer_gb, round(activations / 1e9, 4) AS activations_gb,
       round(buffers / 1e9, 4) AS buffers_gb
FROM held WHERE t_ns BETWEEN coalesce(:from_ms * 1e6, t_ns) AND coalesce(:to_ms * 1e6, t_ns) ORDER BY t_ns;
