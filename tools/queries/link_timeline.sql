-- How busy is one link over time?
-- Parameters:
--   :resource  its name (default: the link that carried most)
-- Reading: each row is the mean over the time until the next row, in percent of capacity.
WITH p AS (SELECT coalesce((SELECT id FROM resource WHERE name = :resource),
  (SELECT s.resource_id FROM sample s JOIN resource r ON r.id = s.resource_id AND r.source IS NOT NULL
   WHERE s.name_id = (SELECT id FROM string WHERE value = 'carried')
   ORDER BY s.value DESC, s.resource_id LIMIT 1)) AS id)
SELECT r.name AS resource, round(s.t_ns / 1e6, 4) AS t_ms,
       round((lead(s.t_ns) OVER (ORDER BY s.t_ns) - s.t_ns) / 1e3, 3) AS for_us,
       round(100.0 * s.value, 2) AS utilisation_pct
FROM p JOIN sample s ON s.resource_id = p.id JOIN resource r ON r.id = p.id
WHERE s.name_id = (SELECT id FROM string WHERE value = 'utilisation') ORDER BY s.t_ns;
