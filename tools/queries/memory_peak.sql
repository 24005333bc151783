-- How much memory does each rank hold at its fullest moment, when is that, and what is in it?
-- Parameters:
--   :rank  one rank only (default: all that were traced)
-- Reading: allocated bytes, without what the driver and the allocator's fragmentation add; the fullest
--   rank first. Of several equal moments the first is shown.
WITH change AS (
  SELECT s.rank, s.t_ns, s.name_id,
         s.value - lag(s.value, 1, 0) OVER (PARTITION BY s.name_id, s.rank ORDER BY s.t_ns) AS bytes
  FROM sample s
  WHERE s.name_id IN (SELECT id FROM string WHERE value GLOB 'memory_*')
    AND s.rank = coalesce(:rank, s.rank)),
k AS (SELECT (SELECT id FROM string WHERE value = 'memory_parameters') AS parameters,
             (SELECT id FROM string WHERE value = 'memory_gradients') AS gradients,
             (SELECT id FROM string WHERE value = 'memory_optimizer') AS optimizer,
             (SELECT id FROM string WHERE value = 'memory_activations') AS activations,
             (SELECT id FROM string WHERE value = 'memory_buffers') AS buffers),
held AS (
  SELECT rank, t_ns, sum(bytes) OVER w AS total, sum(bytes * (name_id = parameters)) OVER w AS parameters,
         sum(bytes * (name_id = gradients)) OVER w AS gradients,
         sum(bytes * (name_id = optimizer)) OVER w AS optimizer,
         sum(bytes * (name_id = activations)) OVER w AS activations,
         sum(bytes * (name_id = buffers)) OVER w AS buffers
  FROM change JOIN k WINDOW w AS (PARTITION BY rank ORDER BY t_ns RANGE UNBOUNDED PRECEDING))
SELECT rank, round(t_ns / 1e6, 4) AS at_ms, round(max(total) / 1e9, 4) AS peak_gb,
       round(parameters / 1e9, 4) AS parameters_gb, round(gradients / 1e9, 4) AS gradients_gb,
       round(optimizer / 1e9, 4) AS optimizer_gb, round(activations / 1e9, 4) AS activations_gb,
       round(buffers / 1e9, 4) AS buffers_gb
FROM held GROUP BY rank ORDER BY max(total) DESC, rank;
