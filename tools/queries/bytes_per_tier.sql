-- Where do the bytes go: inside devices, inside nodes, over the fabric, to storage?
-- Parameters:
--   :tier  one tier, such as fabric (default: all)
-- Reading: carried sums the bytes of every resource of the kind, so a message counts on each resource
--   that it crosses; mean_pct and highest_pct are of the mean and of the busiest of them over the
--   recorded time. Kinds that carried nothing are left out.
WITH span AS (
  SELECT resource_id, max(value) AS carried, (max(t_ns) - min(t_ns)) / 1e9 AS s
  FROM sample WHERE name_id = (SELECT id FROM string WHERE value = 'carried') GROUP BY resource_id)
SELECT r.tier, r.kind, count(*) AS resources, round(sum(s.carried) / 1e9, 3) AS carried_gb,
       round(avg(100.0 * s.carried / (r.capacity * s.s)), 2) AS mean_pct,
       round(max(100.0 * s.carried / (r.capacity * s.s)), 2) AS highest_pct
FROM span s JOIN resource r ON r.id = s.resource_id
WHERE r.unit = 'B/s' AND s.carried > 0 AND s.s > 0 AND r.tier = coalesce(:tier, r.tier)
GROUP BY r.tier, r.kind ORDER BY sum(s.carried) DESC, r.tier, r.kind;
