-- What was simulated, with which version and seed, and how did it end?
-- Reading: one row per value that the run left; scenario is the resolved scenario file, summary what
--   `lockstep run --json` prints, and keys that begin with wall_ are about the machine that simulated.
SELECT key, value FROM run ORDER BY key;
