-- Which workers' gradients are stale, which are dropped?
-- Reading: a slow worker's gradients are stale because others update meanwhile; steps counts what it
--   computed. Dropped ones were too stale or cancelled; on_their_way were still so at the end.
SELECT worker, count(*) AS gradients, sum(action = 'apply') AS applied, sum(action = 'drop' AND reason IS NOT 'in flight at the end') AS dropped,
       sum(action = 'drop' AND reason IS 'in flight at the end') AS on_their_way,
       round(avg(CASE WHEN action = 'apply' THEN staleness END), 3) AS mean_staleness,
       max(CASE WHEN action = 'apply' THEN staleness END) AS largest
FROM gradient GROUP BY worker ORDER BY worker;
