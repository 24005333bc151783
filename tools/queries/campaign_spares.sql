-- How many spares stood idle, for how long?
-- Reading: hours of replication 0 with so many whole and idle nodes, and the share of the wall time.
SELECT spares_free, round(sum(end_us - start_us) / 3.6e9, 2) AS hours,
       round(100.0 * sum(end_us - start_us) / (SELECT sum(end_us - start_us) FROM interval WHERE replica = 0), 2) AS percent
FROM interval WHERE replica = 0 GROUP BY spares_free ORDER BY spares_free;
