-- Where does a gradient's time go, from the read of its model to its application?
-- Reading: means in ms over applied gradients. compute includes the way of the model to the worker; push
--   is the way to the last shard; server is the wait there and its work.
SELECT worker, count(*) AS gradients,
       round(avg(computed_ns - read_ns) / 1e6, 3) AS read_and_compute_ms,
       round(avg(arrived_ns - computed_ns) / 1e6, 3) AS push_ms,
       round(avg(applied_ns - arrived_ns) / 1e6, 3) AS server_ms
FROM gradient WHERE action = 'apply' GROUP BY worker ORDER BY worker;
