-- What did the learner reach, over updates, samples and time?
-- Parameters:
--   :replica  one replication (default: 0, the first)
-- Reading: one row per measurement, six digits. loss and grad_norm are over the training rows, test_loss and
--   accuracy over the test rows, staleness is the mean since the row before. For a plot: --format csv.
WITH m AS (SELECT updates, samples, t_ns, name, CAST(printf('%.6g', value) AS REAL) AS value
           FROM metric WHERE replica = coalesce(:replica, 0))
SELECT updates, max(samples) AS samples, round(max(t_ns) / 1e9, 6) AS time_s,
       max(CASE name WHEN 'loss' THEN value END) AS loss,
       max(CASE name WHEN 'test_loss' THEN value END) AS test_loss,
       max(CASE name WHEN 'accuracy' THEN value END) AS accuracy,
       max(CASE name WHEN 'grad_norm' THEN value END) AS grad_norm,
       max(CASE name WHEN 'staleness' THEN value END) AS staleness
FROM m GROUP BY updates ORDER BY updates;
