-- Where did the months of a campaign go?
-- Reading: one row per kind of phase of replication 0: time in hours, share of the wall time, how often.
--   `train` holds lost steps too; what each failure cost is in campaign_failures.
SELECT kind, count(*) AS phases, round(sum(end_us - start_us) / 3.6e9, 2) AS hours,
       round(100.0 * sum(end_us - start_us) / (SELECT max(end_us) - min(start_us) FROM interval), 2) AS percent,
       sum(steps) AS steps, sum(tokens) AS tokens
FROM interval WHERE replica = 0 GROUP BY kind ORDER BY sum(end_us - start_us) DESC, kind;
