-- What failed, how often, and what did it cost?
-- Reading: one row per cause of replication 0: failures, how many of them the job paid for, GPU-hours lost
--   (steps done again, detection, waiting, restart) and the share of the run's GPU-hours.
SELECT cause, component, kind AS effect, count(*) AS failures, sum(lost_gpu_s > 0) AS paid_for,
       round(sum(lost_gpu_s) / 3600, 1) AS lost_gpu_hours,
       round(100.0 * sum(lost_gpu_s) /
             (SELECT sum(1.0 * (end_us - start_us) / 1e6 * (SELECT max(gpus) FROM interval)) FROM interval), 3) AS percent
FROM fault WHERE replica = 0 GROUP BY cause, component, kind ORDER BY sum(lost_gpu_s) DESC, cause;
