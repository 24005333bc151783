#!/bin/sh
# lockstep run: summary, JSON, names of databases, queries on the result, and nothing left behind by
# bad input.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
tiny

run 0 run tiny.yaml --seed 7
says out "step time"
says out "results/tiny-7.db"
empty err
[ "$(wc -l <out)" -le 40 ] || fail "the summary does not fit one screen: $(wc -l <out) lines"
[ -s results/tiny-7.db ] || fail "no database"
run 0 run tiny.yaml --seed 7 -q
empty out
[ -s results/tiny-7-2.db ] || fail "no second database"
run 0 query @last "SELECT count(*) AS steps FROM step" --format csv
[ "$(sed -n 2p out)" = 2 ] || fail "two steps expected"
run 0 query results/tiny-7.db
says out "time_breakdown"
for name in $("$LOCKSTEP" list queries --names); do
  run 0 query @last "$name"
  leaks off
  run 0 query @last "$name" --json
  is_json
  leaks on
done
run 2 query @last time_brakdown
says err "time_breakdown"
run 2 query @last "SELEC 1"
run 2 query @last "SELECT * FROM evnt"
says err "did you mean 'event'"
run 2 query @last layer_times -p rank=99
says err "ranks 0 to 1"
run 0 query @last longest_operations -p class=nothing
says err "(no rows)"
# Links that are alike have one line: no two lines of top links end the same.
run 0 run "$SOURCE_DIR/topologies/dgx-h100.yaml" "$SOURCE_DIR/workloads/llama2-70b.yaml" --trace none
[ "$(grep -c 'limits .*contended' out)" -ge 1 ] || fail "no top links"
[ -z "$(sed -n 's/.*: \(limits .*\)/\1/p' out | uniq -d)" ] || fail "top links repeat themselves: $(cat out)"

# What a trace lacks, and which run would have it.
run 0 query @last campaign_waterfall
says err "this trace holds no campaign; a run with the section \`campaign\` records one"
run 0 query @last staleness_histogram
says err "no gradients of workers; a run with \`workload.update\` records them"
run 2 query @last "DELETE FROM step"
run 2 query tiny.yaml time_breakdown
says err "'lockstep run' makes one of it"
run 0 query --show time_breakdown
says out "SELECT"

# JSON: one document, the contract's keys, parts that sum to the step.
run 0 run tiny.yaml --json -o json.db
is_json
empty err
for key in schema lockstep seed gpus gpus_idle steps step_time_s step_time_p50_s step_time_p99_s tokens_per_s \
  tokens_per_s_per_gpu samples_per_s model_tflops_per_gpu hardware_tflops_per_gpu peak_tflops_per_gpu mfu hfu \
  time_breakdown_s memory peak_bytes reserved_bytes capacity_bytes fits parameters_bytes \
  communication_bytes_per_gpu events wall_s trace warnings; do
  says out "\"$key\""
done
if command -v python3 >/dev/null; then
  python3 - out <<'PY' || fail "the parts do not sum to the step"
import json, sys
s = json.load (open (sys.argv[1]))
def total (x): return sum (map (total, x.values ())) if isinstance (x, dict) else x
assert abs (total (s["time_breakdown_s"]) / s["step_time_s"] - 1) < 1e-9
assert s["trace"].endswith ("json.db") and s["warnings"] == []
PY
fi

# What is recorded changes no figure but how many events the simulation took.
figures() { sed -E 's/"(events|wall_s|trace|trace_bytes)": [^,}]*,? ?//g' out; }
figures >recorded
for level in none steps messages; do
  run 0 run tiny.yaml --json --trace $level -o level.db --force
  figures >other
  cmp -s recorded other || fail "with --trace $level: $(diff recorded other | head -n 4)"
done

# Prices: two GPUs at 2 USD/h are 4 USD/h, a step its share of that, and two steps are all.
run 0 run tiny.yaml --trace messages --set 'cost.gpu.main=2 USD/h' --json
if command -v python3 >/dev/null; then
  python3 - out <<'PY' || fail "what a step costs"
import json, sys
s = json.load (open (sys.argv[1]))
assert abs (s["usd_per_h"] - 4) < 1e-12
assert abs (s["usd_per_step"] / (4 * s["step_time_s"] / 3600) - 1) < 1e-12
assert abs (s["cost_usd"] / (2 * s["usd_per_step"]) - 1) < 1e-9
assert abs (s["usd_per_million_tokens"] / (s["usd_per_step"] / (4 * 256) * 1e6) - 1) < 1e-12
PY
fi
run 0 run tiny.yaml --trace none --set 'cost.gpu.main=2 USD/h'
says out "cost            4 USD/h: "
run 0 run tiny.yaml --trace none --set 'cost.gpu=2 USD/h'
says out "cost            4 USD/h: "
run 2 run tiny.yaml --trace none --set 'cost.gpu.a100=2 USD/h'
says err "prices go by group of nodes, not by kind of GPU; write cost.gpu.main"
# Rows of a catalogue by a part of their names, keys by what they are below.
run 0 list nodes h200
[ "$(wc -l <out)" -ge 2 ] || fail "one node at most with an H200: $(cat out)"
# As scenarios and messages write it, by a short form.
run 0 list keys cluster.node.host
says out "cluster.groups.*.node.host.nvme_write"
run 0 list keys cost
says out "cost.spares_billed"
run 0 list keys attention
says out "workload.software.attention   attention kernel"
says out "    note: takes unfused, fused-softmax, flash-1, flash-2, flash-3, flash-4"
run 0 list keys tp
head -n 1 out | grep -q "^workload.parallel.tensor " || fail "list keys tp begins with $(head -n 1 out)"
run 2 list models nonesuch

# -o: never over another file unless --force; never to "-", a folder or a place that cannot be written.
run 2 run tiny.yaml -o json.db
says err "--force"
run 0 run tiny.yaml -o json.db --force -q
run 2 run tiny.yaml -o -
run 1 run tiny.yaml -o nowhere/x.db
says err "nowhere/x.db"
run 0 run tiny.yaml --trace none --json
says out '"trace": null'

# The summary's bytes are those of the links: a ring, and switches that reduce and copy (up: 1/m + 1 of the data for
# an all-reduce), but for flags (LL128: 8 bytes in 120). One node, so that every byte leaves through the GPU's own link.
for where in "dgx-a100 0" "dgx-h100 0" "dgx-h100 3"; do
  run 0 run tiny.yaml --json -o sent.db --force --set cluster.node='{preset: '"${where% *}"', gpus: 8}' \
    --set workload.batch.global=8 --set workload.zero.stage="${where#* }" --set workload.model.hidden=2048
  sent=$(sed -n 's/.*"communication_bytes_per_gpu": \([0-9.]*\).*/\1/p' out)
  run 0 query sent.db "SELECT sum(v) / 8 / 2 FROM (SELECT max(s.value) AS v FROM sample s JOIN resource r ON r.id = s.resource_id JOIN string n ON n.id = s.name_id WHERE n.value = 'carried' AND r.name LIKE '%link.up' GROUP BY r.id)" --format csv
  awk -v s="$sent" -v l="$(tail -n 1 out)" 'BEGIN { exit !(s > 0 && l / s > 1 - 1e-4 && l / s < 1.01) }' ||
    fail "$where: $sent bytes sent, $(tail -n 1 out) on the links"
done

# A trace that is not there, a step or a rank that it does not have.
run 2 query nowhere.db
says err "nowhere.db"
run 0 query sent.db
says out "time_breakdown"
for step in two 99 -1; do
  run 2 query sent.db time_breakdown --param step=$step
  says err "no step '$step'; this trace has steps 0 to 1"
done
run 2 query sent.db longest_operations --param rank=8
says err "no rank '8'; this trace has ranks 0 to 7"
run 0 query sent.db time_breakdown --param step=1
says out "compute"

# MFU is counted against what runs.
run 0 run tiny.yaml --trace none --set cluster.node='{preset: dgx-1-v100, gpus: 8}' --set workload.batch.global=8
says out "(fp32)"
run 0 run tiny.yaml --trace none --set workload.precision=fp8
says out "of 312 (bf16)"

# Nothing is written by what fails.
before=$(ls results)
run 2 run tiny.yaml --set workload.batch.micro=0
run 2 run tiny.yaml nowhere.yaml
run 0 run tiny.yaml --dry-run
says out "operations"
says out "database"
# Operations are what the run then counts; events are extrapolated (here the probe saw the whole run).
run 0 run tiny.yaml --trace none --dry-run --json
is_json
forecast=$(grep -oE '"(operations|events)": [0-9]+' out | sort)
run 0 run tiny.yaml --trace none --json
counted=$(grep -oE '"(operations|events)": [0-9]+' out | sort)
[ -n "$forecast" ] && [ "$forecast" = "$counted" ] || fail "--dry-run foretells $forecast, the run counts $counted"
[ "$before" = "$(ls results)" ] || fail "a run that did not happen left files"
for left in ./*.db-* results/*.db-*; do
  [ ! -e "$left" ] || fail "left behind: $left"
done

# A transfer that outlasts the clock: a reason, exit 1, nothing left.
run 1 run tiny.yaml --set cluster.nodes=2 --set 'cluster.fabric={kind: single-switch, link: 1 b/s}' -o late.db
says err "simulated time would pass 80 days"
# A link whose rate is next to nothing (so is what a transfer takes no number) is no bug either: nothing goes over it.
run 1 run "$SOURCE_DIR/workloads/stragglers/throttled-gpu.yaml" --trace none --set "cluster.fabric.link=1e-320 Gb/s"
says err "stands still (a resource has no capacity)"
[ ! -e late.db ] || fail "a run that failed left a database"

# Too large: simulated, traced, said, exit 3.
run 3 run tiny.yaml --set workload.model.hidden=16384 --set workload.model.layers=48 --set workload.stop.steps=1 -o big.db
says err "does not fit"
[ -s big.db ] || fail "no trace of the run that does not fit"
# Loaders that are slower than the GPU: 256 samples of 2.5 ms on 8 threads are 80 ms, whatever the GPU; a run that ends
# before what was ready is used up says that it lived on that. With 13 threads (49 ms) the GPU is slower.
starving="$SOURCE_DIR/workloads/input/starving.yaml"
run 0 run "$starving" --trace none --json
says out '"step_time_p50_s": 0.08,'
says out '"decoded_samples_per_s": 25600,'
run 0 run "$starving" --trace none --set workload.stop=3
says out "loaders         decode 25,600 samples/s at most; the rest was ready at the start"
run 0 run "$starving" --trace none --set workload.input.threads=13
! grep -q '^loaders\|^  input' out || fail "13 threads starve the step: $(grep 'loaders\|input' out)"

# Ranks of unlike accelerators cut gradients alike, whatever kernels they run (a V100 computes bf16 otherwise than an A100, and has
# no flash attention): in buckets smaller than a layer's.
cat >mixed.yaml <<'YAML'
cluster:
  groups: {old: {nodes: 1, node: {preset: dgx-1-v100}}, new: {nodes: 1, node: {preset: dgx-a100}}}
  fabrics: {compute: {kind: fat-tree}}
workload: {model: gpt2-small, precision: bf16, zero: {bucket: 1 MB}, placement: {nodes: ["old[0]", "new[0]"]}, stop: {steps: 1}}
YAML
for stage in 0 1 2 3; do
  run 0 run mixed.yaml --trace none --set workload.zero.stage=$stage
done
finish
