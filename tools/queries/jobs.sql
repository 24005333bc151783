-- What did each job do?
-- Parameters: none
-- Reading: from its start to the end of its last recorded step; communicated is the bytes that the
--   recorded operations of its ranks put on the wire, slowed how much longer they took than alone.
WITH steps AS (
  SELECT job_id, count(*) AS n, min(start_ns) AS first_ns, max(end_ns) AS last_ns,
         avg(end_ns - start_ns) AS mean_ns FROM step GROUP BY job_id),
events AS (
  SELECT r.job_id, sum(e.bytes * c.size) AS bytes, sum(e.slowed_ns * c.size) AS slowed_ns
  FROM event e JOIN kind k ON k.id = e.kind_id AND k.class = 'communication'
  JOIN rank r ON r.rank = e.rank JOIN rank_class c ON c.class = r.class GROUP BY r.job_id)
SELECT j.name AS job, j.policy, j.gpus, round(j.start_ns / 1e6, 3) AS start_ms,
       round(s.last_ns / 1e6, 3) AS end_ms, s.n AS steps, round(s.mean_ns / 1e6, 4) AS step_ms,
       round(e.bytes / 1e9, 3) AS communicated_gb, round(e.slowed_ns / 1e6 / j.gpus, 3) AS slowed_ms_per_gpu
FROM job j LEFT JOIN steps s ON s.job_id = j.id LEFT JOIN events e ON e.job_id = j.id
ORDER BY j.id;
