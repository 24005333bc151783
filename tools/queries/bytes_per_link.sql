-- How many bytes did each link carry?
-- Parameters:
--   :kind   one kind of resource, such as link, nic or hbm (default: all links)
--   :limit  rows (default: 20)
-- Reading: what transfers carried over the whole recorded time, the most loaded link first;
--   ideal_ms is how long its bytes take at full rate. Links that carried nothing are left out.
SELECT r.name AS resource, r.kind, r.tier, r.source, r.target, round(max(s.value) / 1e9, 4) AS carried_gb,
       round(r.capacity / 1e9, 2) AS capacity_gb_per_s, round(max(s.value) / r.capacity * 1e3, 4) AS ideal_ms
FROM sample s JOIN resource r ON r.id = s.resource_id
WHERE s.name_id = (SELECT id FROM string WHERE value = 'carried') AND r.unit = 'B/s'
  AND r.kind = coalesce(:kind, r.kind) AND (r.source IS NOT NULL OR :kind IS NOT NULL)
GROUP BY s.resource_id HAVING max(s.value) > 0
ORDER BY max(s.value) DESC, r.id LIMIT coalesce(:limit, 20);
