#!/bin/sh
# `cmake --install` into a prefix of one's choice: the program, its data and its man page are there,
# and the program takes its data from there and not from the source tree.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
prefix=$scratch/prefix
cmake --install "$BUILD_DIR" --prefix "$prefix" >install.log 2>&1 || { fail "cmake --install: $(tail -n 5 install.log)"; finish; }
LOCKSTEP=$prefix/bin/lockstep
for file in share/man/man1/lockstep.1 share/lockstep/topologies/dgx-h100.yaml share/lockstep/workloads/llama2-7b-zero3.yaml \
            share/lockstep/tools/queries/time_breakdown.sql share/lockstep/tests/reference/train_megatron.csv; do
  [ -f "$prefix/$file" ] || fail "not installed: $file"
done

# A mark in the installed copy shows which one is read.
sed -i 's/^title:.*/title: the installed one/' "$prefix/share/lockstep/workloads/llama2-7b-zero3.yaml"
run 0 check topologies/dgx-h100.yaml workloads/llama2-7b-zero3.yaml --set cluster.nodes=1 --resolved
says out "the installed one"

run 0 run topologies/dgx-h100.yaml workloads/llama2-7b-zero3.yaml --set cluster.nodes=1 -o trace.db -q
run 0 query trace.db step_times
run 0 list gpus
says out "h100"
finish
