#!/bin/sh
# The shipped mixed traffic: what a flow keeps beside an all-to-all, and both models of collectives under contention.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
traffic=$SOURCE_DIR/workloads/traffic
messages="--set cluster.groups.main.node.tuning.model=message --set cluster.fabrics.compute.tuning.model=message"

# seconds KEY FILE ARG...: the key of all jobs, in order of their names.
seconds() {
  key=$1
  shift
  "$LOCKSTEP" run "$@" -q --json -o t.db --force >json 2>err || { fail "run $*"; sed 's/^/    /' err >&2; }
  tr ',{}' '\n\n\n' <json | sed -n "s/^ *\"$key\": *//p" | tail -n "${jobs:-2}" | tr '\n' ' '
}

# One uplink, 32 senders of an all-to-all and one flow: the flow keeps 1/33, so that its bytes take 33 times as long as
# alone; latency from the difference of two sizes. Ideal protocol: else the two carry different headers.
file=$traffic/all-to-all-beside-a-flow.yaml
ideal=cluster.node.tuning.protocol=ideal
jobs=1
one=$(seconds step_time_s "$file" --set $ideal --unset jobs.mesh --set jobs.flow.workload.model.repeat=1)
two=$(seconds step_time_s "$file" --set $ideal --unset jobs.mesh --set jobs.flow.workload.model.repeat=1 --set "jobs.flow.workload.model.size=2 MB")
jobs=2
for algorithm in pairwise auto; do
  both=$(seconds step_time_p99_s "$file" --set $ideal --set jobs.mesh.workload.model.algorithm=$algorithm)
  echo "$both $one $two" | awk '{ x = ($1 - $3) / ($4 - $3); if (NF != 4 || (x / 32 - 1) ^ 2 > 1e-6) { print x; exit 1 } }' ||
    fail "beside $algorithm the flow does not keep 1/33: $both; alone $one, twice the size $two"
done

# An all-to-all over 32,768 ranks, or what it may not be; pair by pair a billion messages were hours and an abort.
cat >wide.yaml <<'YAML'
lockstep: 1
cluster: {nodes: 4096, node: dgx-h100, fabric: {kind: fat-tree, link: 400 Gb/s, leaf_radix: 64}}
workload: {model: {kind: traffic, operation: all_to_all, size: 640 MB, repeat: 1}}
YAML
leaks off
run 0 run wide.yaml --trace none
says out "all_to_all of 640 MB in 1 group of 32,768"
for key in cluster.fabrics.compute.routing=rail cluster.fabrics.compute.tuning.model=message workload.model.algorithm=pairwise; do
  run 2 check wide.yaml --set $key
  says err "workload.model.operation: all_to_all among 32768 ranks is 1.07e+09 messages, which"
done
run 0 check wide.yaml --set cluster.fabrics.compute.routing=rail --set workload.model.group_size=4096

# What holds an all-to-all of all nodes down is told, though nothing else is there to overfill it and a folded run leaves
# it out: at 2:1 the uplinks, whose half is what the adapters would send, and the adapters of two nodes below one leaf.
cat >uplinks.yaml <<'YAML'
lockstep: 1
cluster: {nodes: 64, node: dgx-h100, fabric: {kind: fat-tree, link: 400 Gb/s, leaf_radix: 64, oversubscription: 2}}
workload: {model: {kind: traffic, operation: all_to_all, size: 64 MB, repeat: 2}}
YAML
for case in 64:/leaf0.spine.up: 2:/nic0.tx:; do
  run 0 run uplinks.yaml --trace none --fold off --set "cluster.nodes=${case%%:*}"
  grep '^top links' out >unfolded
  says unfolded "${case#*:} limits"
  run 0 run uplinks.yaml --trace none --set "cluster.nodes=${case%%:*}"
  grep '^top links' out | cmp -s - unfolded || fail "at ${case%%:*} nodes the folded run names $(grep '^top' out), not $(cat unfolded)"
done

# Over PCIe without peers each byte is written to the host's memory and read from it, of which transfers use half: a ring of 4
# moves 4 x 2 bytes there for each that a rank sends, at most 204.8 / 2 / 8 = 12.8 GB/s. 12 GB are sent in 0.9375 s, folded
# or not (a folded run once had all of that memory).
cat >workstation.yaml <<'YAML'
lockstep: 1
cluster: {node: pcie-workstation}
workload: {model: {kind: traffic, operation: all_reduce, size: 8 GB}}
YAML
for fold in auto off; do
  run 0 run workstation.yaml --trace none --fold $fold
  says out "time            937.6 ms"
  says out "main[0]/host/host-memory: limits 100.0 %"
done

# A cable of one node at half rate (11.5 GB/s of 100 Gb/s) holds a ring of three, 1.333 GB of 1 GB, to 115.9 ms: its node is not
# like the others of its group.
cat >slow-cable.yaml <<'YAML'
lockstep: 1
cluster:
  nodes: 3
  node: {gpu: h100-sxm-80gb, gpus: 1, nics: {compute: {preset: roce-200, count: 1}}}
  fabric:
    kind: custom
    nodes: {leaf: switch}
    links: {d0: {from: "main[0-1]", to: leaf, rate: 200 Gb/s}, d2: {from: "main[2]", to: leaf, rate: 100 Gb/s}}
workload: {model: {kind: traffic, operation: all_reduce, size: 1 GB}}
YAML
for fold in auto off; do
  run 0 run slow-cable.yaml --trace none --fold $fold
  says out "time            116 ms"
  says out "main[2]/nic0.tx: limits 99.9 %"
done

# So is a GPU's own PCIe link that holds a tree down, though the rank behind it is like the others: nothing is in its way.
for fold in auto off; do
  run 0 run "$SOURCE_DIR/topologies/dgx2-v100.yaml" --trace none --fold $fold --set cluster.nodes=3 \
    --set 'workload={model: {kind: traffic, operation: reduce, size: 10 MB}}' \
    --set 'cluster.links={slow: {target: "main[1]/gpu2/pcie.down", rate: 5 %}}'
  says out "main[1]/gpu2/pcie.down: limits"
done

# Fluid and message are within 5 % where bandwidth rules.
near() {
  # shellcheck disable=SC2086
  echo "$(seconds step_time_s "$@") $(seconds step_time_s "$@" $messages)" |
    awk '{ if (NF != 4) exit 1; for (i = 1; i <= 2; i++) if (($(i + 2) / $i - 1) ^ 2 > 0.05 ^ 2) { print; exit 1 } }' ||
    fail "the two models are more than 5 % apart: $*"
}
near "$traffic/incast.yaml"
near "$file"
near "$traffic/two-all-reduces.yaml" --set "jobs.even.workload.model.size=4 GB" --set "jobs.odd.workload.model.size=4 GB"
finish
