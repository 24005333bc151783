-- How stale are the gradients that were applied?
-- Reading: staleness is the version at application minus the version read. share is of all applied
--   gradients, below_pct of those at most so stale. Empty where nothing met a server.
WITH h AS (SELECT staleness, count(*) AS gradients FROM gradient WHERE action = 'apply' GROUP BY staleness)
SELECT staleness, gradients,
       round(100.0 * gradients / (SELECT sum(gradients) FROM h), 3) AS share_pct,
       round(100.0 * sum(gradients) OVER (ORDER BY staleness) / (SELECT sum(gradients) FROM h), 3) AS below_pct
FROM h ORDER BY staleness;
