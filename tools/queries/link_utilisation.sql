-- Which links are busiest?
-- Parameters:
--   :kind   one kind of resource, such as link, nic or hbm (default: all links)
--   :limit  rows (default: 20)
-- Reading: mean over the recorded time and the busiest window, in percent of capacity; busy is the
--   share of the windows in which the link carried anything. Windows are 10 us at first and widen in
--   long runs, so that busy is then an upper bound. A link near 100 % in its windows limits somebody.
WITH span AS (
  SELECT resource_id, value, t_ns,
         lead(t_ns) OVER (PARTITION BY resource_id ORDER BY t_ns) - t_ns AS ns
  FROM sample WHERE name_id = (SELECT id FROM string WHERE value = 'utilisation'))
SELECT r.name AS resource, r.kind, r.tier,
       round(r.capacity / 1e9, 1) AS capacity_g_per_s, r.unit,
       round(100.0 * sum(s.value * s.ns) / sum(s.ns), 3) AS mean_pct,
       round(100.0 * max(s.value), 2) AS highest_pct,
       round(100.0 * sum(CASE WHEN s.value > 0 THEN s.ns ELSE 0 END) / sum(s.ns), 2) AS busy_pct
FROM span s JOIN resource r ON r.id = s.resource_id
WHERE s.ns > 0 AND r.kind = coalesce(:kind, r.kind) AND (r.source IS NOT NULL OR :kind IS NOT NULL)
GROUP BY s.resource_id ORDER BY mean_pct DESC, r.id LIMIT coalesce(:limit, 20);
