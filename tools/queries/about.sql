-- What was simulated, with which version and seed, and how did it end?
-- Reading: one row per value that the run left, then those of the summary that `lockstep run --json`
--   prints (fractions are of 1, units are in the names). The scenario, resolved and ready to run again,
--   is not shown: SELECT value FROM run WHERE key = 'scenario'. Keys that begin with wall_ are about the
--   machine that simulated.
SELECT key, value FROM (
  SELECT 0 AS part, key AS place, key, value FROM run WHERE key NOT IN ('scenario', 'summary')
  UNION ALL
  SELECT 1, j.id, replace(substr(j.fullkey, 3), '"', ''),
         CASE j.type WHEN 'true' THEN 'yes' WHEN 'false' THEN 'no' ELSE j.atom END
  FROM run, json_tree(run.value) j
  WHERE run.key = 'summary' AND j.atom IS NOT NULL AND j.key NOT IN ('schema', 'lockstep', 'seed'))
ORDER BY part, place;
