-- Which workers' gradients are stale, which are dropped?
-- Reading: a slow worker's gradients are stale because others update meanwhile; steps counts what it
--   computed. Dropped ones were too stale, cancelled, or still on their way at the end.
SELECT worker, count(*) AS gradients, sum(action = 'apply') AS applied, sum(action = 'drop') AS dropped,
       round(avg(CASE WHEN action = 'apply' THEN staleness END), 3) AS mean_staleness,
       max(CASE WHEN action = 'apply' THEN staleness END) AS largest
FROM gradient GROUP BY worker ORDER BY worker;
