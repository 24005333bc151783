-- What does each worker of an asynchronous run spend its time on?
-- Reading: percent of the time that its spans cover. wait is for other workers, push and pull are for the
--   server and the way there. Empty in runs of synchronous steps (time_breakdown answers there).
SELECT e.rank, round(sum(e.end_ns - e.start_ns) / 1e6, 3) AS all_ms,
       round(100.0 * sum(CASE WHEN n.value = 'compute' THEN e.end_ns - e.start_ns ELSE 0 END) / sum(e.end_ns - e.start_ns), 2) AS compute_pct,
       round(100.0 * sum(CASE WHEN n.value = 'push' THEN e.end_ns - e.start_ns ELSE 0 END) / sum(e.end_ns - e.start_ns), 2) AS push_pct,
       round(100.0 * sum(CASE WHEN n.value = 'wait' THEN e.end_ns - e.start_ns ELSE 0 END) / sum(e.end_ns - e.start_ns), 2) AS wait_pct,
       round(100.0 * sum(CASE WHEN n.value = 'pull' THEN e.end_ns - e.start_ns ELSE 0 END) / sum(e.end_ns - e.start_ns), 2) AS pull_pct,
       round(100.0 * sum(CASE WHEN n.value = 'average' THEN e.end_ns - e.start_ns ELSE 0 END) / sum(e.end_ns - e.start_ns), 2) AS average_pct
FROM event e JOIN string n ON n.id = e.name_id JOIN stream s ON s.id = e.stream_id
WHERE s.name = 'update' GROUP BY e.rank ORDER BY e.rank;
