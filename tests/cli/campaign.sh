#!/bin/sh
# Campaigns from scenarios: exact without failures, the same for the same seed, sizes of checkpoints as
# published, what is recorded.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
tiny
cat >months.yaml <<'YAML'
lockstep: 1
cluster: {storage: {read: 10 GB/s, write: 5 GB/s, latency: 1 ms, fabric: compute}}
campaign:
  until: {steps: 100000}
  checkpoint: {every: 10 s}
  replications: 3
YAML
cat >failing.yaml <<'YAML'
lockstep: 1
faults:
  failures:
    gpu: {component: gpu, lifetime: {dist: exponential, mean: 20 h}, repair: {dist: lognormal, median: 1 h, sigma: 0.5}}
    slow: {component: host, lifetime: {dist: weibull, scale: 30 h, shape: 0.8}, repair: {dist: constant, value: 2 h}, effect: slow, time_factor: 1.3}
    software: {component: software, lifetime: {dist: exponential, mean: 10 h}}
campaign:
  until: {duration: 10 d, steps: null}
  spares: {nodes: 1}
  recovery: {policy: spares, detect: 2 min, restart: 1 min}
YAML

# Without failures: wall = steps x step + checkpoints, to the microsecond of what is recorded.
run 0 run tiny.yaml months.yaml --json -o exact.db
is_json
says out "nothing fails in this campaign"
for key in goodput ettr failures gpu_hours campaign; do
  says out "\"$key\""
done
run 0 query exact.db "SELECT sum(steps), max(end_us) - min(start_us) - sum(end_us - start_us), sum(kind = 'checkpoint') > 0, count(*) - sum(kind IN ('train', 'checkpoint')) FROM interval" --format csv
[ "$(sed -n 2p out)" = "100000,0,1,0" ] || fail "a campaign without failures: $(sed -n 2p out)"

# What goodput is of: the nodes and their spares. With nothing that fails or is written, all the time is kept, and of one
# node and three spares a quarter works.
run 0 run tiny.yaml months.yaml --trace none --set campaign.checkpoint.interval=none --set campaign.recovery.policy=spares --set campaign.spares.nodes=3
says out "goodput     25.00 %"
says out "spares count, so at most 25.00 %"
says out "ettr        100.00 %"
run 0 run tiny.yaml months.yaml --trace none --set campaign.checkpoint.interval=none
says out "goodput     100.00 %"
grep -q "spares count" out && fail "spares of a campaign without any"

# With failures: same seed, same bits; another seed, other ones; rows hang together.
run 0 run tiny.yaml months.yaml failing.yaml --json -o a.db
sed 's/"wall_s": [0-9.e-]*, "trace": "[^"]*"//' out >a.json
run 0 run tiny.yaml months.yaml failing.yaml --json -o b.db
sed 's/"wall_s": [0-9.e-]*, "trace": "[^"]*"//' out >b.json
cmp -s a.json b.json || fail "two runs of one campaign differ"
run 0 run tiny.yaml months.yaml failing.yaml --json -o c.db --seed 99
sed 's/"wall_s": [0-9.e-]*, "trace": "[^"]*"//' out >c.json
cmp -s a.json c.json && fail "the seed does not count"
run 0 query a.db "SELECT sum(end_us - start_us) = 864000000000, count(DISTINCT kind) >= 6 FROM interval" --format csv
[ "$(sed -n 2p out)" = "1,1" ] || fail "the phases of a campaign do not fill ten days"
run 0 query a.db "SELECT count(*) FROM interval i LEFT JOIN fault f ON f.id = i.fault_id WHERE i.fault_id IS NOT NULL AND (f.id IS NULL OR f.start_us > i.start_us)" --format csv
[ "$(sed -n 2p out)" = "0" ] || fail "a phase of recovery comes before its failure"
for name in campaign_waterfall campaign_failures campaign_spares campaign_timeline; do
  run 0 query a.db "$name"
done
run 0 run tiny.yaml months.yaml failing.yaml --trace none
says out "goodput"
says out "the optimum for"

# The interval that is recommended leaves time for what is written beside training to become durable.
run 0 run tiny.yaml months.yaml failing.yaml --json --trace none --set campaign.checkpoint.mode=async --set 'cluster.storage.write=1 MB/s'
sed -n '/"checkpoint": {/,/}/p' out | awk -F'[:,]' '/"drain_s"/ {d = $2} /"optimum_s"/ {o = $2} /"interval_cost"/ {c = $2} END {exit !(d > 60 && o >= d && c > 0)}' ||
  fail "the optimum is shorter than a checkpoint takes to be written: $(cat out)"

# A source more leaves the failures of the others where they were.
run 0 run tiny.yaml months.yaml failing.yaml --json -o d.db --set 'faults.failures.nic={component: nic, lifetime: {dist: exponential, mean: 1000 h}, repair: {dist: constant, value: 1 h}}'
for db in a.db d.db; do
  run 0 query "$db" "SELECT start_us FROM fault WHERE cause = 'slow' ORDER BY id LIMIT 5" --format csv
  mv out "$db.slow"
done
cmp -s a.db.slow d.db.slow || fail "another source moved the failures of the first"

# Stragglers of the step: the campaign's steps are the mean of the 20 steps after the first of `run`, with the
# same draws; goodput compares with steps without them.
cat >jitter.yaml <<'YAML'
lockstep: 1
faults: {stragglers: {jitter: {target: {all: true}, time_factor: {dist: lognormal, median: 1.2, sigma: 0.3}, per: step}}}
YAML
run 0 run tiny.yaml jitter.yaml months.yaml --json --set workload.stop.steps=21 -o j.db
is_json
run 0 query j.db "SELECT abs((SELECT avg(end_ns - start_ns) FROM step WHERE step BETWEEN 1 AND 20) * 100000 / 1000.0 - (SELECT sum(end_us - start_us) FROM interval WHERE kind = 'train')) < 1000" --format csv
[ "$(sed -n 2p out)" = "1" ] || fail "a campaign's steps are not the mean of sampled ones"
run 0 run tiny.yaml jitter.yaml months.yaml --json --trace none
grep -q '"slow": 0.[1-9]' out || fail "jitter does not show in the campaign: $(grep '"slow"' out)"
run 0 run tiny.yaml months.yaml --trace none --set 'faults.stragglers.once={target: {rank: 0}, time_factor: 2, from: 1 s, until: 2 s}'
says err "no effect on the campaign"

# Checkpoints in memory between those to storage; phases of recovery by name.
run 0 run tiny.yaml months.yaml failing.yaml -o m.db --set campaign.checkpoint.every=1h --set campaign.checkpoint.memory_every=5min --set campaign.checkpoint.peer_memory=true --set campaign.recovery.drain=20s --set campaign.recovery.reschedule=90s
says out "reschedule"
run 2 run tiny.yaml months.yaml failing.yaml --trace none --set campaign.checkpoint.memory_every=5

# Checkpoints of other worlds and stages, and what a rank holds while it restores.
run 0 check tiny.yaml months.yaml --checkpoint --set workload.zero.stage=3
says out "3 -> 1"
says out "old shards"
says out "fits"

# Learning on the kept steps of a campaign: in its own time, with its dollars.
cat >elastic.yaml <<'YAML'
lockstep: 1
campaign: {until: {duration: 6 h}, spares: null, recovery: {policy: elastic, detect: 2 min, restart: 1 min}}
cost: {gpu: {main: 2 USD/h}}
YAML
cat >learn.yaml <<'YAML'
lockstep: 1
learn: {problem: {kind: quadratic, dimension: 2}, optimizer: {kind: sgd, lr: 0.001}, evaluate: {every: 10000}}
YAML
at_length || sed -i 's/duration: 6 h/duration: 1 h/' elastic.yaml
run 0 run tiny.yaml months.yaml failing.yaml elastic.yaml -q -o e.db
run 0 query e.db "SELECT sum(steps) > 1000 FROM kept_steps" --format csv
[ "$(sed -n 2p out)" = "1" ] || fail "a campaign keeps no steps: $(sed -n 2p out)"
run 0 learn e.db learn.yaml --csv e.csv
says out "USD"
[ "$(tail -n 1 e.csv | cut -d, -f9)" = "$("$LOCKSTEP" query e.db 'SELECT sum(steps) FROM kept_steps' --format csv | sed -n 2p)" ] ||
  fail "updates of a campaign are not its kept steps: $(tail -n 1 e.csv)"

# Sizes: 14 bytes per parameter in bf16 with fp32 master and moments. BLOOM-176B: 2.47 TB (published: 2.3 TiB).
run 0 check topologies/dgx-a100.yaml --set cluster.nodes=35 --set workload.model=bloom-176b --set workload.precision=bf16 \
  --set 'workload.batch={global: 2000, micro: 2, seq_len: 2048}' --set 'workload.parallel={tensor: 4, pipeline: 7}' \
  --set workload.zero.stage=1 --checkpoint --json
is_json
if command -v python3 >/dev/null; then
  python3 - out <<'PY' || fail "checkpoint of BLOOM-176B"
import json, sys
c = json.load (open (sys.argv[1]))
assert abs (c["bytes"] / 2.47e12 - 1) < 0.01, c["bytes"]
assert abs (c["bytes_per_parameter"] - 14) < 0.05
assert c["unified"]["network_bytes"] > 0 and c["sharded"]["network_bytes"] == 0
PY
fi
run 0 check tiny.yaml months.yaml --checkpoint
says out "unified"
says out "async"

# Where checkpoints go, and what the interval of a mean is.
run 0 run tiny.yaml months.yaml failing.yaml --trace none
says out "written to  cluster.storage"
says out "(95 %)"
run 0 run tiny.yaml months.yaml failing.yaml --trace none --unset cluster.storage
says out "written to  the nodes' own drives"
says err "a lost node takes its shards along"
# Months take seconds: 8,400 recoveries of 16,384 GPUs restore from one size to the same, which is worked out once (a
# second; 18 when each recovery did).
if at_length; then
  timeout 12 "$LOCKSTEP" run "$SOURCE_DIR/topologies/dgx-h100.yaml" "$SOURCE_DIR/workloads/llama3-405b-16k.yaml" \
    "$SOURCE_DIR/workloads/campaigns/llama3-405b-54-days.yaml" --trace none -q || fail "54 days take more than 12 s"
fi
finish
