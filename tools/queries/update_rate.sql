-- How many updates per second does the shared model get, and how does that change over the run?
-- Parameters:
--   :windows  windows that the run is cut into (default: 20)
-- Reading: an update is a version of one shard (of the first, where there are several). ms_per_update is
--   the window over its updates. The last window may be short of the last instant.
WITH u AS (SELECT min(t_ns) AS t_ns FROM update_log
           WHERE operation IN ('apply', 'average', 'elastic', 'outer_step', 'pair_average') AND ifnull(shard, 0) = 0
           GROUP BY version),
     w AS (SELECT coalesce(:windows, 20) AS windows, max(max(t_ns), 1) AS end_ns FROM update_log)
SELECT min(t_ns * windows / end_ns, windows - 1) AS window, round(min(t_ns) / 1e6, 3) AS first_ms, count(*) AS updates,
       round(count(*) * windows / (end_ns / 1e9), 4) AS updates_per_s,
       round(end_ns / 1e6 / windows / count(*), 4) AS ms_per_update
FROM u, w GROUP BY 1 ORDER BY 1;
