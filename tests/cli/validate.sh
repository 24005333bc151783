#!/bin/sh
# lockstep validate: tables in, predictions and reasons out; what is no table is refused.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"

head='gpu,row_id,gpus,layers,hidden,heads,seq,tp,pp,dp,global_batch,micro_batch,recompute,framework,precision,cp,step_time_s,note'
cat >table.csv <<CSV
$head
A100-SXM-80GB (some text),small,8,4,1024,16,1024,1,1,8,64,2,none,Megatron-LM 2022,fp16,1,0.5,"a, quoted ""note"""
A100-SXM-80GB,pipeline,8,8,1024,16,1024,1,4,2,128,1,full,Megatron-LM 2022,fp16,1,1.5,
A100-SXM-80GB,swept,8,4,1024,16,1024,2,1,4,64,,full,Megatron-LM 2022,fp16,1,0.5,
A100-SXM-80GB,context,8,4,1024,16,1024,1,1,,64,2,none,Megatron-LM 2022,bf16,2,0.5,
H100-SXM-80GB,eight-bits,8,4,1024,16,1024,1,1,8,64,2,none,Composer + PyTorch FSDP,fp8,1,0.5,
Z9000,unknown,8,4,1024,16,1024,1,1,8,64,2,none,x,bf16,1,0.5,
A100-SXM-80GB,broken,8,4,1024,16,lots,1,1,8,64,2,none,x,bf16,1,0.5,
A100-SXM-80GB,contradicts,8,4,1024,16,1024,3,1,8,64,2,none,x,bf16,1,0.5,
CSV
run 0 validate table.csv
[ "$(head -n 1 out)" = "file,row_id,quantity,measured,predicted,signed_error_pct,low,high" ] || fail "the head line is $(head -n 1 out)"
[ "$(sed 1d out | cut -d, -f2 | tr '\n' ' ')" = "small pipeline swept context eight-bits unknown broken contradicts " ] ||
  fail "rows out of order: $(cut -d, -f2 out | tr '\n' ' ')"
grep -q '^table.csv,small,step_time_s,0.5,[0-9.]*,-*[0-9.]*,,$' out || fail "row small: $(grep small out)"
grep -q '^table.csv,swept,step_time_s,0.5,[0-9.]*,-*[0-9.]*,[0-9.]*,[0-9.]*$' out || fail "row swept has no range: $(grep swept out)"
grep -q '^table.csv,context,step_time_s,0.5,[0-9.]*,' out || fail "row context: $(grep context out)"
for reason in "not in the catalogue" "no whole number" "does not divide"; do
  says out "$reason"
done
grep -q '^table.csv,eight-bits,step_time_s,0.5,[0-9.]*,' out || fail "row eight-bits: $(grep eight out)"
says err "count   5"
says err "best single MFU"
cp out first
run 0 validate table.csv
cmp -s out first || fail "two runs differ"
run 0 validate table.csv --json
is_json
says out '"constant_mfu_mean_absolute_pct"'
run 0 validate table.csv --row small --scenario
says out "preset: "
cp out scenario.yaml
run 0 check scenario.yaml
run 2 validate table.csv --row nothing

# Words on the network: Omni-Path chooses the nodes that have it, before those whose rate is as near (aws-p4d has 50 Gb/s per
# GPU too). One ring over four of them, an adapter each: 2 (3/4) of 4 GB at 40.5 Gb/s, what NCCL measured there.
cat >words.csv <<CSV
gpu,row_id,gpus,layers,hidden,heads,seq,tp,pp,global_batch,micro_batch,inter_node_per_gpu_gbit_s,fabric,step_time_s
A100-SXM-80GB,path,16,4,1024,16,1024,1,1,64,2,50,4x Omni-Path 100 Gbit/s per node,0.5
A100-SXM-80GB,none,16,4,1024,16,1024,1,1,64,2,50,,0.5
CSV
run 0 validate words.csv --row path --scenario
says out "preset: jean-zay-a100"
run 0 validate words.csv --row none --scenario
grep -q "jean-zay" out && fail "a row without words is on Jean Zay"
cat >ring.csv <<CSV
run_id,collective,gpu,nodes,gpus_per_node,ranks,fabric,size_bytes,oop_time_us
jz,all_reduce,A100-SXM-80GB,4,1,4,jean-zay-a100,4000000000,1185000
CSV
run 0 validate ring.csv
awk -F, 'NR == 2 { exit !($6 > -3 && $6 < 3) } END { if (NR < 2) exit 1 }' out || fail "a ring over Omni-Path: $(cat out)"

# Adapters: "4x200 Gb/s HDR" is InfiniBand, so that the nearest rate of another kind (AWS p4de: 4 x 100 Gb/s) is not taken;
# without the word it is.
cat >adapters.csv <<CSV
inter_node,$head
4x200 Gb/s HDR per node,A100-SXM-80GB,hdr,16,4,1024,16,1024,1,1,16,64,2,none,Megatron-LM 2022,fp16,1,0.5,
4x200 Gb/s per node,A100-SXM-80GB,any,16,4,1024,16,1024,1,1,16,64,2,none,Megatron-LM 2022,fp16,1,0.5,
CSV
run 0 validate adapters.csv --row hdr --scenario
says out "preset: dgx-a100"
says out "nics: {compute: {count: 4, rate: 200 Gb/s}}"
cp out scenario.yaml
run 0 check scenario.yaml
run 0 validate adapters.csv --row any --scenario
says out "preset: aws-p4de"

# Words of others: a schedule with a blank, an accelerator that is nearly one, and nodes of another size than the row's.
cat >words.csv <<CSV
row_id,gpu,gpus,gpus_per_node,layers,hidden,heads,seq,tp,pp,global_batch,micro_batch,pp_schedule,step_time_s
blank,A100-SXM-80GB,2,2,4,1024,16,1024,1,2,16,1,zero-bubble V,1
torch,A100-SXM-80GB,2,2,4,1024,16,1024,1,2,16,1,ScheduleZBVZeroBubble,1
plain,A100-SXM-80GB,2,2,4,1024,16,1024,1,2,16,1,Zero Bubble,1
both,A100-SXM-80GB,2,2,4,1024,16,1024,1,2,16,1,InterleavedZeroBubble,1
near,A100-40G,8,8,4,1024,16,1024,1,1,16,1,,1
chip,TPU v6e,300,4,4,1024,16,1024,1,1,16,1,,1
card,H100 NVL,1,1,4,1024,16,1024,1,1,16,1,,1
CSV
for row in blank:zb-v torch:zb-v plain:zb-h1; do
  run 0 validate words.csv --row "${row%:*}" --scenario
  says out "schedule: ${row#*:}"
done
run 0 validate words.csv
says out "the schedule 'InterleavedZeroBubble' is not modelled"
says out "gpu 'A100-40G' is not in the catalogue (did you mean 'a100-40gb'?)"
says out "no node preset has 300 of tpu-v6e; there are nodes of 4, 256"
says out "no node preset has h100-nvl-94gb"

# The columns: every column that the readers name is listed (they abort otherwise), and every one listed is read.
run 0 validate --columns
[ "$(head -n 1 out)" = "table,column,use,meaning" ] || fail "the head line is $(head -n 1 out)"
# shellcheck disable=SC2013 # names without spaces
for column in $(sed 1d out | cut -d, -f2,3 | grep ',input$' | cut -d, -f1 | sort -u); do
  grep -q "\"$column\"" "$SOURCE_DIR"/sim/cli/training_*.[ch] "$SOURCE_DIR"/sim/cli/predict*.c ||
    fail "column $column is listed and no reader asks for it"
done
says out "training,step_time_s,measured"
says out "collectives,size_bytes,required"
run 0 validate --columns --json
is_json
run 2 validate --columns table.csv
says err "it reads none, and 'table.csv' is given"
run 2 validate --columns --row small
says err "does not go with it"
# A measurement that is no number is told as that.
{ head -n 2 table.csv | sed 's/,0\.5,/,half a second,/'; } >unusable.csv
run 0 validate unusable.csv
says out "step_time_s: 'half a second' is no number above 0"
echo 'collective,gpu,ranks,oop_time_us' >lacks.csv
run 2 validate lacks.csv
says err "no table of collectives (it lacks the column size_bytes)"

# A long step extended from two short ones agrees with the whole one within a thousandth.
run 0 validate table.csv --row pipeline
short=$(sed -n 2p out | cut -d, -f5)
run 0 validate table.csv --row pipeline --whole
whole=$(sed -n 2p out | cut -d, -f5)
awk -v a="$short" -v b="$whole" 'BEGIN { d = a / b - 1; exit !(d < 0.001 && d > -0.001) }' ||
  fail "extended $short s, whole $whole s"

# Pairs that differ in one input: a-b and c-d by the batch, a-c and b-d by GPUs; a-d and b-c by both, so no pairs.
# Twice the batch takes longer and half of the GPUs take longer, which only the measurement of a-b says here.
head2='row_id,gpu,gpus,layers,hidden,heads,seq,tp,pp,global_batch,micro_batch,recompute,framework,precision,step_time_s'
cat >pairs.csv <<CSV
$head2
a,A100-SXM-80GB,8,4,1024,16,1024,1,1,64,2,none,Megatron-LM 2022,fp16,0.5
b,A100-SXM-80GB,8,4,1024,16,1024,1,1,128,2,none,Megatron-LM 2022,fp16,1
c,A100-SXM-80GB,4,4,1024,16,1024,1,1,64,2,none,Megatron-LM 2022,fp16,0.45
d,A100-SXM-80GB,4,4,1024,16,1024,1,1,128,2,none,Megatron-LM 2022,fp16,0.3
CSV
run 0 validate pairs.csv
says err "pairs by batch           2,"
says err "pairs by GPUs            2,"
says err "pairs by all             4,"
grep "pairs by batch" err | grep -q "sign right in 1 of 2" || fail "signs by batch: $(cat err)"
grep "pairs by GPUs" err | grep -q "sign right in 0 of 2" || fail "signs by GPUs: $(cat err)"
run 0 validate pairs.csv --json
is_json
says out '"signs_right"'

# Releases are inputs, wording is none. By the batch: e-f (one release in other words), e-g and e-h would be if the
# container or the round were not stated; by precision none: "fp8" and "FP8 as well" are one format; i leaves the
# micro-batch out, and is no pair with f by it.
cat >releases.csv <<CSV
$head2,source,source_location
e,H100-SXM-80GB,8,4,1024,16,1024,1,1,64,2,none,NeMo Framework Release 25.04,fp8,0.5,training_results_v5.0 @0fdc28f,x_ngc25.04
f,H100-SXM-80GB,8,4,1024,16,1024,1,1,128,2,none,NVIDIA NeMo 25.04,FP8 as well,1,training_results_v5.0 @441d65f,y
g,H100-SXM-80GB,8,4,1024,16,1024,1,1,128,2,none,NVIDIA NeMo 25.09,fp8,0.9,training_results_v5.0 @0fdc28f,y
h,H100-SXM-80GB,8,4,1024,16,1024,1,1,128,2,none,NVIDIA NeMo 25.04,fp8,0.8,training_results_v5.1 @0fdc28f,y
i,H100-SXM-80GB,8,4,1024,16,1024,1,1,128,,none,NVIDIA NeMo 25.04,fp8,0.7,training_results_v5.0 @0fdc28f,y
CSV
run 0 validate releases.csv
says err "pairs by batch           1,"
says err "pairs by all             1,"
grep "pairs by batch" err | grep -q "(e, f)" || fail "the pair is $(grep 'pairs by' err)"

# A pipeline of Megatron whose schedule and virtual stages are left empty is swept over interleaving; one that says 1F1B,
# or that it ran before interleaving, is not.
cat >stages.csv <<CSV
$head2,virtual_stages,pp_schedule
open,A100-SXM-80GB,8,8,1024,16,1024,1,4,32,1,none,Megatron-LM 2021,fp16,0.5,,
said,A100-SXM-80GB,8,8,1024,16,1024,1,4,32,1,none,Megatron-LM 2021,fp16,0.5,,1F1B
early,A100-SXM-80GB,8,8,1024,16,1024,1,4,32,1,none,Megatron-LM Jan 2021 (before interleaving),fp16,0.5,,
CSV
run 0 validate stages.csv
grep -q '^stages.csv,open,step_time_s,0.5,[0-9.]*,-*[0-9.]*,[0-9.]*,[0-9.]*$' out || fail "not swept: $(grep open out)"
for row in said early; do
  grep -q "^stages.csv,$row,step_time_s,0.5,[0-9.]*,-*[0-9.]*,,$" out || fail "swept: $(grep $row out)"
done

# Interleaved, and not how: also one layer per stage where embedding and head make the stages even (Llama 3: 126 + 2 over
# 16; here 14 + 2 over 4), whose bubble is a quarter. FSDP in a pipeline that does not reshard adds up whole gradients.
cat >ends.csv <<CSV
$head2,virtual_stages,pp_schedule,zero_stage,shard_strategy
ends,H100-SXM-80GB,4,14,1024,16,1024,1,4,32,1,none,FSDP,bf16,0.5,,"interleaved, tunable N",2,"FSDP, params not resharded after forward"
once,H100-SXM-80GB,4,14,1024,16,1024,1,4,32,1,none,FSDP,bf16,0.5,4,interleaved,2,"FSDP, params not resharded after forward"
each,H100-SXM-80GB,4,14,1024,16,1024,1,4,32,1,none,FSDP,bf16,0.5,4,interleaved,2,SHARD_GRAD_OP
CSV
run 0 validate ends.csv
step_of() { grep "^ends.csv,$1,step_time_s" out | cut -d, -f5; }
[ "$(step_of ends)" = "$(step_of once)" ] || fail "swept $(step_of ends), stated $(step_of once)"
run 0 validate ends.csv --row once --scenario
says out "zero: {stage: 1"
run 0 validate ends.csv --row each --scenario
says out "zero: {stage: 2"

# Llama 3's trainer: flash attention 2, keys and values gathered over context ranks; and nodes of the cut parts.
cat >meta.csv <<CSV
$head2,cp
meta,H100-SXM-80GB,16,8,1024,16,8192,1,4,32,1,none,Meta internal 4D parallel + FSDP,bf16,0.5,2
a800,NVIDIA A800-SXM4-80GB,16,8,1024,16,1024,1,4,32,1,none,Megatron-LM 2022,bf16,0.5,1
h800,H800,16,8,1024,16,1024,1,4,32,1,none,Megatron-Core,bf16,0.5,1
CSV
run 0 validate meta.csv --row meta --scenario
says out "context: 2, context_kind: all-gather"
says out "software: meta-2024"
run 0 validate meta.csv --row a800 --scenario
says out "preset: hgx-a800"
run 0 validate meta.csv --row h800 --scenario
says out "preset: hgx-h800"
run 0 validate meta.csv

# measured: The Llama 3 Herd of Models (arXiv 2407.21783), table 4, 405B at 8K tokens on 8,192 and 16,384 H100: 430 and 400
# TFLOP/s. Within 7 %; chains of plain operations were 9 and 10 % below.
cat >herd.csv <<'CSV'
row_id,gpu,gpus,layers,hidden,heads,kv_heads,ffn,ffn_act,vocab,seq,tp,pp,dp,zero_stage,shard_strategy,pp_schedule,sequence_parallel,global_batch,recompute,framework,precision,inter_node_per_gpu_gbit_s,tflops_per_gpu
h8,H100-SXM-80GB,8192,126,16384,128,8,53248,swiglu,128256,8192,8,16,64,2,params not resharded after forward,"interleaved, tunable N",yes,2048,none,4D parallel + FSDP,"bf16, fp32 reduce-scatter",400,430
h16,H100-SXM-80GB,16384,126,16384,128,8,53248,swiglu,128256,8192,8,16,128,2,params not resharded after forward,"interleaved, tunable N",yes,2048,none,4D parallel + FSDP,"bf16, fp32 reduce-scatter",400,400
CSV
run 0 validate herd.csv
for row in h8 h16; do
  awk -F, -v row="$row" '$2 == row && $3 == "tflops_per_gpu" && $6 > -7 && $6 < 7 { found = 1 } END { exit !found }' out ||
    fail "Llama 3 405B: $(grep "$row" out)"
done

# Megatron-LM of no stated year: of Transformer Engine where the accelerator has its 8 bits, with model FLOPs; GPT-NeoX is
# Megatron under DeepSpeed.
cat >undated.csv <<CSV
$head2,tflops_per_gpu
h100,H100-SXM-80GB,8,8,1024,16,1024,2,1,32,1,none,Megatron-LM,bf16,0.5,100
year,H100-SXM-80GB,8,8,1024,16,1024,2,1,32,1,none,Megatron-LM 2022,bf16,0.5,100
a100,A100-SXM-80GB,8,8,1024,16,1024,2,1,32,1,none,Megatron-LM,bf16,0.5,100
later,A100-SXM-80GB,8,8,1024,16,1024,2,1,32,1,none,Megatron-LM (March 2024),bf16,0.5,100
neox,A100-SXM-80GB,8,8,1024,16,1024,2,2,32,1,none,GPT-NeoX,fp16,0.5,100
CSV
software_of() { run 0 validate undated.csv --row "$1" --scenario && says out "software: $2"; }
software_of h100 megatron-core
says out "zero: {stage: 0, overlap: true"
software_of year megatron-2022
software_of a100 megatron-2022
software_of later megatron-core
software_of neox megatron-deepspeed
says out "dropout: true"
run 0 validate undated.csv
tflops_of() { grep "^undated.csv,$1,tflops_per_gpu" out | cut -d, -f5; }
seconds_of() { grep "^undated.csv,$1,step_time_s" out | cut -d, -f5; }
awk -v a="$(tflops_of h100)" -v b="$(tflops_of a100)" -v s="$(seconds_of h100)" -v t="$(seconds_of a100)" \
  'BEGIN { r = a * s / (b * t); exit !(r > 0.75 && r < 0.85) }' || fail "FLOPs of Megatron-Core: $(cat out)"

# TPUs: a job has a slice of its own, whose torus is as near a cube (v5e: a square) as its chips allow, or whole pods. measured:
# Llama 2 70B on a pod of v6e, 43.8 % of its peak (MaxText, docs/reference/models/tiering.md); within 10 %, by hosts of 4 half.
cat >slices.csv <<CSV
row_id,model,gpu,gpus,gpus_per_node,seq,tp,pp,zero_stage,global_batch,recompute,framework,precision,mfu_pct
pod,Llama 2 70B,TPU v6e,256,4,4096,1,1,3,1024,,MaxText,bf16,43.8
pods,Llama 2 7B,TPU v5e,512,4,4096,1,1,3,512,full,MaxText,bf16,50
flat,Llama 2 7B,TPU v5e,32,,4096,1,1,3,64,full,MaxText,bf16,50
cube,Llama 2 7B,TPU v5p,128,4,4096,1,1,3,128,full,MaxText,bf16,50
host,Llama 2 7B,TPU v4,4,4,4096,1,1,3,64,full,MaxText,bf16,50
large,Llama 2 7B,TPU v4,6144,4,4096,1,1,3,6144,full,MaxText,bf16,50
CSV
run 0 validate slices.csv
awk -F, '$2 == "pod" { seen = 1; good = $6 > -10 && $6 < 10 } END { exit !(seen && good) }' out || fail "v6e: $(grep pod, out)"
says out "large,skipped,,\"no node preset has 6144 of tpu-v4"
slice_of() { run 0 validate slices.csv --row "$1" --scenario && says out "$2"; }
slice_of pods "nodes: 2"
slice_of flat "intra: {dims: [4, 8], wrap: [false, false]}"
says out "host: {count: 8, sockets: 8}"
slice_of cube "intra: {dims: [4, 4, 8], wrap: [true, true, true]}"
slice_of host "intra: {dims: [2, 2], wrap: [false, false]}"

# Megatron-LM before and after its fused softmax and dropout. measured: nv-adlr.github.io, "MegatronLM's Supercharged V1.0" (May
# 2020), 1288 ms; NVIDIA/Megatron-LM, images/tables.tex (2020), 1121 ms on the same V100, 1076 on an A100 with 16 samples.
cat >year.csv <<CSV
$head2
before,V100-SXM3-32GB,1,24,1920,15,1024,1,1,8,8,full,Megatron-LM v1.0 (May 2020),fp16,1.288
after,V100-SXM3-32GB,1,24,1920,15,1024,1,1,8,8,full,Megatron-LM 2020,fp16,1.121
ampere,A100-SXM-40GB,1,24,1920,15,1024,1,1,16,16,full,Megatron-LM 2020,fp16,1.076
CSV
sed -i.bak -e '1s/$/,gpus_per_node/' -e '2,3s/$/,16/' -e '4s/$/,8/' year.csv
run 0 validate year.csv
for row in before after ampere; do
  awk -F, -v row="$row" '$2 == row { exit !($6 > -6 && $6 < 6) }' out || fail "$(grep "$row" out)"
done

# Its README had PyTorch's DDP, which overlaps, for the 8.3 B over 8 ranks. measured, images/tables.tex: 1380 ms on 1024 GPUs,
# 37 more than on 8, where sums of 2.2 GB of gradients by one adapter of 25 GB/s a rank last 170.
cat >ddp.csv <<CSV
$head2
large,A100-SXM-40GB,1024,42,4096,32,1024,8,1,2048,16,full,Megatron-LM 2020,fp16,1.38
small,A100-SXM-40GB,256,30,2304,18,1024,2,1,2048,16,full,Megatron-LM 2020,fp16,1.101
CSV
run 0 validate ddp.csv
for row in large small; do
  awk -F, -v row="$row" '$2 == row { exit !($6 > -4 && $6 < 4) }' out || fail "$(grep "$row" out)"
done

# Words of other schedules are those schedules, of two stages per device where they fold; what is not modelled says so.
cat >schedules.csv <<CSV
$head2,virtual_stages,pp_schedule
fold,A100-SXM-80GB,8,10,1024,16,1024,1,4,32,1,none,torchtitan,bf16,0.5,,ZBVZeroBubble
zero,A100-SXM-80GB,8,8,1024,16,1024,1,4,32,1,none,torchtitan,bf16,0.5,,ZB-H1
late,A100-SXM-80GB,8,8,1024,16,1024,1,4,32,1,none,torchtitan,bf16,0.5,,GPipe
odd,A100-SXM-80GB,8,8,1024,16,1024,1,4,32,1,none,torchtitan,bf16,0.5,,Chimera
plain,A100-SXM-80GB,8,8,1024,16,1024,1,4,32,1,none,torchtitan,bf16,0.5,,PipeDream-Flush
both,A100-SXM-80GB,8,8,1024,16,1024,1,4,32,1,none,torchtitan,bf16,0.5,,InterleavedZeroBubble
CSV
run 0 validate schedules.csv
says out "both,skipped,,the schedule 'InterleavedZeroBubble' is not modelled"
says err "pp_schedule 'Chimera' is taken as 1F1B"
if grep -q "pp_schedule '[^C]" err; then fail "known schedules are named: $(cat err)"; fi
run 0 validate schedules.csv --row fold --scenario
says out "schedule: zb-v, layers_per_stage: [2, 2, 1, 1, 1, 1, 1, 1]"
run 0 validate schedules.csv --row zero --scenario
says out "schedule: zb-h1"
run 0 validate schedules.csv --row late --scenario
says out "schedule: gpipe"

# Many micro-batches: the shorter steps that theirs follows from are steps that the schedule can run, and the line holds.
cat >many.csv <<CSV
$head2,virtual_stages,pp_schedule
dual,A100-SXM-80GB,8,16,1024,16,1024,1,8,96,1,none,torchtitan,bf16,0.5,,DualPipe
fold,A100-SXM-80GB,4,16,1024,16,1024,1,4,64,1,none,torchtitan,bf16,0.5,,ZBVZeroBubble
late,A100-SXM-80GB,4,16,1024,16,1024,1,4,64,1,none,torchtitan,bf16,0.5,,GPipe
CSV
run 0 validate many.csv
cp out short
run 0 validate many.csv --whole
for row in dual fold late; do
  awk -F, -v row="$row" '$2 == row && $3 == "step_time_s" { t[n++] = $5 }
    END { d = t[0] / t[1] - 1; exit !(n == 2 && d < 0.01 && d > -0.01) }' short out ||
    fail "$row: $(grep ",$row," short out)"
done

# A row that cannot be built says what is wrong, not what is warned of before it.
cat >wrong.csv <<CSV
$head2,kv_heads,ffn
wrong,A100-SXM-80GB,8,8,1024,16,1024,8,1,8,1,none,torchtitan,fp8,0.5,4,4096
CSV
run 0 validate wrong.csv
says out "8 does not divide the 4 key and value heads"

# Hybrid sharding is over the nodes, where there are several.
cat >hybrid.csv <<CSV
$head2,zero_stage,shard_strategy
two,A100-SXM-80GB,16,8,1024,16,1024,1,1,32,1,none,Composer FSDP,bf16,0.5,3,HYBRID_SHARD
one,A100-SXM-80GB,8,8,1024,16,1024,1,1,32,1,none,Composer FSDP,bf16,0.5,3,HYBRID_SHARD
full,A100-SXM-80GB,16,8,1024,16,1024,1,1,32,1,none,Composer FSDP,bf16,0.5,3,FULL_SHARD
CSV
run 0 validate hybrid.csv --row two --scenario
says out "shard_group: node"
for row in one full; do
  run 0 validate hybrid.csv --row $row --scenario
  grep -q shard_group out && fail "$row is hybrid"
done

# torchtitan counts 6 N + 12 L d s where a row says nothing.
cat >counts.csv <<CSV
$head2,flops_def,mfu_pct
silent,A100-SXM-80GB,8,8,1024,16,1024,1,1,32,1,none,torchtitan,bf16,0.5,,40
said,A100-SXM-80GB,8,8,1024,16,1024,1,1,32,1,none,torchtitan,bf16,0.5,6N,40
other,A100-SXM-80GB,8,8,1024,16,1024,1,1,32,1,none,torchtitan,bf16,0.5,model,40
CSV
run 0 validate counts.csv
mfu_of() { grep "^counts.csv,$1,mfu_pct" out | cut -d, -f5; }
[ "$(mfu_of silent)" = "$(mfu_of said)" ] || fail "silent $(mfu_of silent), said $(mfu_of said)"
[ "$(mfu_of silent)" != "$(mfu_of other)" ] || fail "6 N is as the model's FLOPs"

# Mixtures of experts go by their names, Llama 4 by torchtitan's too.
cat >names.csv <<CSV
$head2
scout,H100-SXM-80GB,64,48,5120,40,8192,1,1,64,1,full,torchtitan,bf16,5
CSV
for name in Llama-4-Scout-17B-16E 'Llama 4 Maverick' llama4_17bx128e; do
  sed "s/^row_id,/&model,/; s/^scout,/&$name,/" names.csv >named.csv
  run 0 validate named.csv --scenario
  says out 'preset: llama4-'
done
for name in 'Llama 4' FLUX.1-dev; do # skipped, whatever their columns say
  sed "s/^row_id,/&model,/; s/^scout,/&$name,/" names.csv >named.csv
  run 0 validate named.csv
  says out 'named.csv,scout,skipped'
done

# Megatron-Bridge's recipes give the last stage of DeepSeek-V3 and Kimi K2 three layers less (61 = 15 x 4 + 1 = 7 x 8 + 5);
# Megatron's own runs are split as layers come out.
head3='row_id,model,gpu,gpus,gpus_per_node,layers,hidden,heads,seq,tp,pp,ep,virtual_stages,global_batch,micro_batch,framework,precision,step_time_s'
cat >recipes.csv <<CSV
$head3
sixteen,DeepSeekV3,GB200 NVL72,256,4,61,7168,128,4096,1,4,64,4,4096,1,Megatron-Bridge/NeMo 26.04,mxfp8,16
eight,Kimi_K2,GB200 NVL72,256,4,61,7168,64,4096,1,8,32,,4096,1,Megatron-Bridge/NeMo 26.04,mxfp8,16
other,DeepSeekV3,GB200 NVL72,256,4,61,7168,128,4096,1,8,32,,4096,1,Megatron-LM 2025,bf16,16
virtual,DeepSeekV3,B300-SXM,256,8,61,7168,128,4096,1,8,8,2,4096,1,Megatron-Bridge/NeMo 26.08,mxfp8,15
flat,DeepSeekV3,B300-SXM,256,8,61,7168,128,4096,1,8,8,,4096,2,Megatron-Bridge/NeMo 26.08,mxfp8,18
CSV
run 0 validate recipes.csv --row sixteen --scenario
says out "layers_per_stage: [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 1]"
run 0 validate recipes.csv --row eight --scenario
says out "layers_per_stage: [8, 8, 8, 8, 8, 8, 8, 5]"
run 0 validate recipes.csv --row virtual --scenario
says out "expert_overlap: true"
run 0 validate recipes.csv --row flat --scenario
! grep -q "expert_overlap" out || fail "stages that are not virtual run as pairs: $(cat out)"
run 0 validate recipes.csv --row other --scenario
says out "layers_per_stage: [8, 8, 8, 8, 8, 7, 7, 7]"

# ...and say how tokens travel, what hides it, and whether iterations are replayed as a whole, by model, accelerator, format
# and release (sim/cli/bridge_recipe.c).
cat >recipes.csv <<CSV
$head3
whole,Qwen3_30B_a3B,GB300 NVL72,8,4,48,2048,32,4096,1,1,8,,512,8,Megatron-Bridge/NeMo 26.06,mxfp8,5.79
parts,Qwen3_30B_a3B,GB300 NVL72,8,4,48,2048,32,4096,1,1,8,,512,8,Megatron-Bridge/NeMo 26.04.01,mxfp8,8.26
older,GPT OSS 120B,GB300 NVL72,64,4,36,2880,64,8192,1,1,64,,1280,2,Megatron-Bridge/NeMo 25.11,bf16,8.9
wide,GPT OSS 120B,GB300 NVL72,64,4,36,2880,64,4096,1,1,64,,1280,4,Megatron-Bridge/NeMo 26.06,bf16,4.2
fused,GPT OSS 120B,GB200 NVL72,64,4,36,2880,64,4096,1,1,64,,1280,4,Megatron-Bridge/NeMo 26.02.01,bf16,5.7
later,GPT OSS 120B,GB200 NVL72,64,4,36,2880,64,4096,1,1,64,,1280,4,Megatron-Bridge/NeMo 26.04.01,bf16,5
plain,GPT OSS 120B,B300-SXM,64,8,36,2880,64,4096,1,1,8,,1280,4,Megatron-Bridge/NeMo 26.06,mxfp8,4.4
pairs,Qwen3_235B_a22B,B300-SXM,256,8,94,4096,64,4096,1,8,8,4,8192,1,Megatron-Bridge/NeMo 26.02,mxfp8,48
sent_once,Qwen3_235B_a22B,B300-SXM,256,8,94,4096,64,4096,1,8,8,,8192,2,Megatron-Bridge/NeMo 26.04,mxfp8,26
narrow,DeepSeekV3,GB300 NVL72,256,4,61,7168,128,4096,1,2,32,8,4096,1,Megatron-Bridge/NeMo 26.06,mxfp8,10
again,DeepSeekV3,GB200 NVL72,256,4,61,7168,128,4096,1,4,64,4,4096,1,Megatron-Bridge/NeMo 26.02.01,mxfp8,16
dense,DeepSeekV3,GB200 NVL72,256,4,61,7168,128,4096,1,4,64,4,4096,1,Megatron-Bridge/NeMo 26.04,mxfp8,16
hopper,DeepSeekV3,H100-SXM-80GB,1024,8,61,7168,128,4096,2,8,64,4,8192,1,Megatron-Bridge/NeMo 25.11,fp8,36
sparse,Qwen3_235B_a22B,B200-SXM,64,8,94,4096,64,4096,1,8,8,2,1024,1,Megatron-Bridge/NeMo 25.11,mxfp8,20
first,DeepSeekV3,GB300 NVL72,256,4,61,7168,128,4096,1,2,32,4,4096,1,Megatron-Bridge/NeMo 25.11,bf16,17
second,DeepSeekV3,GB200 NVL72,256,4,61,7168,128,4096,1,4,64,4,4096,1,Megatron-Bridge/NeMo 25.11,bf16,21
other,DeepSeekV3,GB200 NVL72,256,4,61,7168,128,4096,1,8,32,,4096,1,Megatron-LM 2025,bf16,16
CSV
# In 16 bits too gradients are kept and reduced in 16, and B300 machines have adapters as B200's.
run 0 validate recipes.csv --row first --scenario
says out "precision: {preset: bf16, gradients: bf16}"
says out "layer_graphs: attention"
says out "recompute: {mode: none}"
run 0 validate recipes.csv --row second --scenario
says out "layer_graphs: router"
says out "operations: [q_norm, kv_norm, q_up, kv_up, rotary, join_heads]"
run 0 validate recipes.csv --row pairs --scenario
says out "rate: 400 Gb/s"
run 0 validate recipes.csv --row whole --scenario
says out "expert_dispatch: fused, expert_overlap: true"
says out "cuda_graphs: true"
says out "attention: fp8"
! grep -q "logits" out || fail "Qwen's logits stay in 16 bits: $(cat out)"
run 0 validate recipes.csv --row narrow --scenario
says out "attention: fp8, logits: compute, fused_scaling: true"
run 0 validate recipes.csv --row parts --scenario
says out "expert_dispatch: fused}"
! grep -q "cuda_graphs\|attention: fp8" out || fail "26.04.01 runs as 26.06: $(cat out)"
says out "layer_graphs: router, attention: flash-4}"
run 0 validate recipes.csv --row older --scenario
! grep -q "flash-4" out || fail "25.11 has the attention kernels of 26.02: $(cat out)"
run 0 validate recipes.csv --row fused --scenario
says out "expert_dispatch: fused, expert_overlap: true"
run 0 validate recipes.csv --row later --scenario
says out "expert_dispatch: all-to-all, expert_overlap: true"
run 0 validate recipes.csv --row plain --scenario
says out "layer_graphs: attention, attention: flash-4}"
says out "expert_dispatch: fused}"
run 0 validate recipes.csv --row pairs --scenario
says out "expert_dispatch: all-to-all, expert_overlap: true"
run 0 validate recipes.csv --row sent_once --scenario
says out "expert_dispatch: fused, layers"
run 0 validate recipes.csv --row again --scenario
says out "layer_graphs: attention, attention: flash-4}"
says out "operations: [q_norm, kv_norm, q_up, kv_up, rotary, join_heads]"
run 0 validate recipes.csv --row dense --scenario
says out "operations: [mlp_up, mlp_down]"
run 0 validate recipes.csv --row hopper --scenario
says out "expert_dispatch: fused, expert_overlap: true"
says out "operations: [q_norm, kv_norm, q_up, kv_up, rotary, join_heads, mlp_up, mlp_down]"
run 0 validate recipes.csv --row sparse --scenario
says out "expert_dispatch: all-to-all, expert_overlap: true"
run 0 validate recipes.csv --row wide --scenario
says out "expert_dispatch: all-to-all}"
run 0 validate recipes.csv --row other --scenario
! grep -q "expert_dispatch\|gradients: bf16" out || fail "a recipe of Megatron-Bridge's for a run that is not its: $(cat out)"

# Byte order mark, CRLF, other order of columns.
printf '\357\273\277' >bom.csv
sed 's/$/\r/' table.csv >>bom.csv
run 0 validate bom.csv --row small
[ "$(sed -n 2p out | cut -d, -f3-)" = "$(sed -n 2p first | cut -d, -f3-)" ] || fail "a byte order mark or CRLF changes the answer"

# Collectives.
cat >rings.csv <<'CSV'
run_id,collective,gpu,nodes,gpus_per_node,ranks,fabric,dtype,size_bytes,oop_time_us
a,all_reduce,A100-SXM-80GB,1,8,8,NVLink3/NVSwitch,float,1073741824,8000
a,alltoall,A100-SXM-80GB,2,8,16,8x200 Gbit/s per node,float,1048576,100
a,all_shuffle,A100-SXM-80GB,1,8,8,,float,1024,10
CSV
run 0 validate rings.csv
grep -q '^rings.csv,a:all_reduce:1073741824,oop_time_us,8000,[0-9.]*,' out || fail "no all-reduce: $(cat out)"
says out "a:alltoall:1048576,oop_time_us"
says out "all_shuffle"

# Adapters in words: their number, rate (of bytes there is no word: NVLink's) and kind; a preset by its name with blanks; in a
# rack "per node" is a tray.
cat >words.csv <<'CSV'
run_id,collective,gpu,ranks,nodes,gpus_per_node,fabric,size_bytes,oop_time_us
one,all_reduce,A100-SXM-80GB,16,2,8,1x100 Gbit/s Ethernet,1024,1
sum,all_reduce,H100-SXM-80GB,16,2,8,RoCE 1600 Gbit/s per node,1024,1
line,all_reduce,V100-SXM2-16GB,16,2,8,NVLink2 300 GB/s; InfiniBand 100 Gbps per node,1024,1
each,all_reduce,H100-SXM-80GB,16,2,8,400 Gb/s per GPU,1024,1
born,all_reduce,H100-SXM-80GB,16,2,8,4 x HDR100,1024,1
mega,all_reduce,H100-SXM-80GB,16,2,8,GCP A3 Mega,1024,1
tray,all_reduce,GB200,144,36,4,4x400 Gbit/s IB per node,1024,1
none,all_reduce,H200-SXM,16,2,8,NVLink4 900 GB/s,1024,1
CSV
nics_of() {
  run 0 validate words.csv --row "$1:all_reduce:1024" --scenario
  sed -n 's/.*nics: {compute: {\(.*\)}}/\1/p' out
}
[ "$(nics_of one)" = "preset: roce-100, count: 1, rate: 100 Gb/s" ] || fail "one: $(nics_of one)"
[ "$(nics_of sum)" = "preset: roce-200, count: 8, rate: 200 Gb/s" ] || fail "sum: $(nics_of sum)"
[ "$(nics_of line)" = "preset: cx5-100, count: 1, rate: 100 Gb/s" ] || fail "line: $(nics_of line)"
[ "$(nics_of each)" = "count: 8, rate: 400 Gb/s" ] || fail "each: $(nics_of each)"
[ "$(nics_of born)" = "preset: cx5-100, count: 4, rate: 100 Gb/s" ] || fail "born: $(nics_of born)"
[ "$(nics_of tray)" = "preset: cx7-400, count: 72, rate: 400 Gb/s" ] || fail "tray: $(nics_of tray)"
[ -z "$(nics_of none)" ] || fail "none: $(nics_of none)"
run 0 validate words.csv --row mega:all_reduce:1024 --scenario
says out "preset: gcp-a3-mega"

# A model's name gives what columns leave out, of dense models and of mixtures; what is stated holds. All reasons at once.
cat >named.csv <<'CSV'
row_id,model,gpu,gpus,layers,hidden,heads,seq,tp,pp,global_batch,micro_batch,recompute,precision,step_time_s
dense,Llama3 8B,H100-SXM-80GB,8,8,,,8192,1,1,8,1,none,bf16,1
spaced,Llama 2 7B,H100-SXM-80GB,8,,,,4096,1,1,8,1,none,bf16,1
mixed,qwen1.5-moe-a2.7b,H100-SXM-80GB,8,,,,4096,1,1,8,1,none,bf16,1
wrong,lama3-8b,H1000,8,,,,8192,1,1,8,1,none,bf16,1
image,resnet-50,H100-SXM-80GB,8,,,,,1,1,8,1,none,bf16,1
bare,,H100-SXM-80GB,8,,32,,8192,1,1,8,1,none,bf16,1
CSV
run 0 validate named.csv --scenario
says out "preset: llama3-8b"
says out "layers: 8"
says out "preset: llama2-7b"
says out "preset: qwen1.5-moe-a2.7b"
says out "wrong: skipped: layers, hidden, heads not stated, and model 'lama3-8b' is no preset (did you mean 'llama3-8b'?); gpu 'H1000' is not in the catalogue"
says out "model 'resnet-50' is no transformer"
says out "layers, heads not stated, and no model named"
cut -d, -f1-4,8- named.csv >short.csv
run 0 validate short.csv --row mixed
says out "short.csv,mixed,step_time_s,1,"

# What a row says and nobody knows is named, with what it was taken for; a row that says nothing of its format has the
# accelerator's 16 bits; part of a node has its share of adapters; a card is no module.
cat >said.csv <<'CSV'
row_id,gpu,gpus,gpus_per_node,layers,hidden,heads,seq,tp,pp,global_batch,micro_batch,recompute,framework,precision,step_time_s
words,H100-SXM-80GB,8,8,4,1024,16,1024,1,1,64,2,none,Homegrown 3,int7,0.1
again,H100-SXM-80GB,8,8,4,1024,16,1024,1,1,32,2,none,Homegrown 3,int7,0.1
silent,V100-SXM2-32GB,8,8,4,1024,16,1024,1,1,64,2,none,Megatron-LM 2021,,0.1
half,H100-SXM-80GB,16,4,4,1024,16,1024,1,1,64,2,none,Megatron-LM 2021,float16,0.1
long,A100-SXM-80GB,8,8,4,1024,16,1024,1,1,64,2,none,Megatron-LM 2021,bfloat16,0.1
card,NVIDIA H200-NVL-141GB,8,8,4,1024,16,1024,1,1,64,2,none,Megatron-LM 2021,bf16,0.1
CSV
run 0 validate said.csv
says err "not known: framework 'Homegrown 3' is taken as generic; precision 'int7' is taken as bf16 (2 rows)"
[ "$(grep -c "not known" err)" = 1 ] || fail "known words are not known: $(grep "not known" err)"
says out "gpu 'NVIDIA H200-NVL-141GB' is not in the catalogue"
run 0 validate said.csv --row words --json
says out '"remark": "framework '
run 0 validate said.csv --row silent --scenario
says out "precision: fp16"
run 0 validate said.csv --row half --scenario
says out "precision: fp16"
says out "gpus: 4"
says out "nics: {compute: {count: 4}}"
run 0 validate said.csv --row long --scenario
says out "precision: bf16"

# MLPerf's submissions name their containers in many ways; on NVIDIA's accelerators they run one implementation. Adapters
# whose heads cannot be dealt out go round a ring. One submission of round 5.1 ran in 4 bits, and no other row is read so.
cat >mlperf.csv <<'CSV'
row_id,source,model,gpu,gpus,gpus_per_node,intra_node,layers,hidden,heads,kv_heads,ffn,ffn_act,vocab,seq,tp,pp,cp,global_batch,micro_batch,precision,framework,step_time_s
named,training_results_v4.1,GPT-3 175B (MLPerf),NVIDIA H100-SXM5-80GB,512,8,,96,12288,96,,,,51200,2048,4,8,1,256,1,fp8,NVIDIA NeMo Framework Release 24.09,1
plain,training_results_v4.1,GPT-3 175B (MLPerf),NVIDIA H100-SXM5-80GB,512,8,,96,12288,96,,,,51200,2048,4,8,1,256,1,fp8,"NGC MXNet 24.04, NGC Pytorch 24.04",1
other,training_results_v4.1,GPT-3 175B (MLPerf),TPU-v5p,512,4,,96,12288,96,,,,51200,2048,8,1,1,512,1,fp8,maxtext,1
dealt,training_results_v4.0,Llama-2-70B LoRA rank16 (MLPerf),NVIDIA H100-SXM5-80GB,64,8,,80,8192,64,8,28672,SwiGLU,32000,8192,4,1,2,8,1,fp8,PyTorch,1
ring,training_results_v4.0,Llama-2-70B LoRA rank16 (MLPerf),NVIDIA H100-SXM5-80GB,1024,8,,80,8192,64,8,28672,SwiGLU,32000,8192,4,1,4,64,1,fp8,PyTorch,1
four,training_results_v5.1,Llama-3.1-405B (MLPerf),NVIDIA Blackwell Ultra GPU (GB300),512,4,NVLINK,126,16384,128,8,53248,SwiGLU,128256,8192,2,8,2,1152,1,fp8,NVIDIA NeMo Framework Release 25.09,1
eight,training_results_v5.1,Llama-3.1-405B (MLPerf),NVIDIA Blackwell Ultra GPU (GB300),256,4,NVLINK,126,16384,128,8,53248,SwiGLU,128256,8192,4,8,1,1152,1,fp8,NVIDIA NeMo Framework Release 25.09,1
wide,training_results_v5.1,Llama-3.1-405B (MLPerf),NVIDIA Blackwell Ultra GPU (GB300),512,4,NVLINK,126,16384,128,8,53248,SwiGLU,128256,8192,2,8,2,1152,1,bf16,NVIDIA NeMo Framework Release 25.09,1
CSV
run 0 validate mlperf.csv --scenario
awk '/^# /{n = $3} {print > (n ".yaml")}' out
sed 1d named.yaml >named.text
sed 1d plain.yaml | cmp -s - named.text || fail "one run under two names of its containers: $(sed 1d plain.yaml | diff named.text -)"
grep -q "software: megatron-bridge" named.yaml || fail "NVIDIA's MLPerf runs as: $(grep software named.yaml)"
grep -q "software: generic" other.yaml || fail "MaxText runs as: $(grep software other.yaml)"
grep -q "context: 2, context_kind: all-to-all" dealt.yaml || fail "adapters' heads: $(grep parallel dealt.yaml)"
grep -q "context: 4}" ring.yaml || fail "2 key heads for 4 ranks: $(grep parallel ring.yaml)"
grep -q "nvfp4" four.yaml || fail "the submission in 4 bits: $(grep precision four.yaml)"
! grep -q "nvfp4" eight.yaml wide.yaml || fail "read as 4 bits: $(grep precision eight.yaml wide.yaml)"

# FSDP by what it says: torchtitan has FSDP2 alone, and tensor parallelism with sequence parallelism alone; a gated MLP has
# three matrices, whatever its gate; FSDP's CPU offload keeps parameters and states in the host's memory.
cat >fsdp.csv <<'CSV'
row_id,gpu,gpus,layers,hidden,heads,ffn,ffn_act,seq,tp,pp,global_batch,micro_batch,recompute,framework,precision,shard_strategy,other_config,step_time_s
titan,H100-SXM-80GB,8,4,1024,16,2816,swiglu,1024,2,1,8,2,none,torchtitan FSDP2,bf16,,,1
once,A100-SXM-80GB,8,4,1024,16,4096,gelu,1024,1,1,64,2,none,Composer + PyTorch FSDP,bf16,SHARD_GRAD_OP,cpu_offload=True,1
host,A100-SXM-80GB,8,4,1024,16,2816,GeGLU,1024,1,1,64,2,none,Composer + PyTorch FSDP,bf16,FULL_SHARD,cpu_offload=True,1
device,A100-SXM-80GB,8,4,1024,16,2816,GeGLU,1024,1,1,64,2,none,Composer + PyTorch FSDP,bf16,FULL_SHARD,cpu_offload=False,1
CSV
run 0 validate fsdp.csv --scenario
awk '/^# /{n = $3} {print > (n ".yaml")}' out
grep -q "tensor: 2, pipeline: 1, sequence_parallel: true" titan.yaml || fail "torchtitan's ranks: $(grep parallel titan.yaml)"
grep -q "zero: {stage: 3, overlap: true}" titan.yaml || fail "torchtitan shards: $(grep zero titan.yaml)"
grep -q "zero: {stage: 2, overlap: true}" once.yaml || fail "SHARD_GRAD_OP: $(grep zero once.yaml)"
grep -q "activation: swiglu" host.yaml || fail "GeGLU: $(grep activation host.yaml)"
grep -q "zero: {stage: 3, overlap: true, offload: parameters}" host.yaml || fail "CPU offload: $(grep zero host.yaml)"
grep -q "offload" device.yaml && fail "no CPU offload: $(grep zero device.yaml)"
for row in titan once host; do
  run 0 check $row.yaml
done
# torchtitan's first tables ran with a fused norm (its presets of April 2024), later ones without a compiler do not.
cat >first.csv <<'CSV'
row_id,source,gpu,gpus,layers,hidden,heads,ffn,ffn_act,seq,tp,pp,global_batch,micro_batch,recompute,framework,precision,other_config,step_time_s
first,pytorch/torchtitan docs/performance.md,A100-SXM-80GB,8,4,4096,32,11008,swiglu,4096,1,1,8,1,none,torchtitan FSDP2,bf16,torch.compile=False,1
later,pytorch/torchtitan benchmarks/llama3_h100_202412_torchtitan.md,A100-SXM-80GB,8,4,4096,32,11008,swiglu,4096,1,1,8,1,none,torchtitan FSDP2,bf16,torch.compile=False,1
CSV
run 0 validate first.csv --row first --scenario
says out "software: pytorch-fsdp2-2024-04-eager"
run 0 validate first.csv --row later --scenario
says out "software: pytorch-fsdp2-eager"
run 0 validate first.csv
awk -F, '{t[$2] = $5} END {exit !(t["first"] < 0.99 * t["later"] && t["first"] > 0.9 * t["later"])}' out ||
  fail "a fused norm: $(cat out)"

# A fabric that no node of the catalogue has with these accelerators: the node is that of the accelerators.
cat >amd.csv <<'CSV'
row_id,gpu,gpus,gpus_per_node,intra_node,inter_node,layers,hidden,heads,seq,tp,pp,global_batch,micro_batch,recompute,framework,precision,step_time_s
ndr,MI300X,16,8,Infinity Fabric,8x400 Gb/s NDR,4,1024,16,1024,1,1,64,2,none,Megatron-LM 2024,bf16,0.1
CSV
run 0 validate amd.csv --row ndr --scenario
says out "preset: mi300x-node"

# NeMo's performance recipes run no layer again (model_configs_gb200.csv, recompute_layers 0), but for the 70B's in bf16 under
# FSDP; Bridge's are other recipes. Nemotron has rotary positions, no biases and layer norm.
cat >kept.csv <<CSV
row_id,model,gpu,gpus,gpus_per_node,intra_node,layers,hidden,heads,kv_heads,ffn,ffn_act,vocab,seq,tp,pp,zero_stage,global_batch,micro_batch,framework,precision,step_time_s
kept,LLAMA3-70B,GB200,64,4,NVLink,80,8192,64,8,28672,swiglu,128256,8192,1,1,3,128,1,NeMo 25.04,fp8,4.06
again,LLAMA3-70B,GB200,64,4,NVLink,80,8192,64,8,28672,swiglu,128256,8192,1,1,3,128,1,NeMo 25.04,bf16,8
bridge,LLAMA3-70B,GB200,64,4,NVLink,80,8192,64,8,28672,swiglu,128256,8192,1,1,3,128,1,Megatron-Bridge 25.09,fp8,4.06
nemotron,Nemotron4-340B,H100-SXM-80GB,128,8,NVLink,96,18432,96,8,73728,squared-relu,256000,4096,8,8,1,32,1,NeMo 24.09,fp8,3.16
CSV
run 0 validate kept.csv
grep -q '^kept.csv,kept,step_time_s,4.06,[0-9.]*,-*[0-9]\.[0-9]*,,$' out || fail "a recipe that keeps all: $(grep ',kept,' out)"
for row in again bridge; do
  grep -q "^kept.csv,$row,step_time_s,[0-9.]*,[0-9.]*,[-0-9.]*,[0-9.]*,[0-9.]*\$" out || fail "recompute is not open: $(grep ",$row," out)"
done
run 0 validate kept.csv --row nemotron --scenario
says out "recompute: {mode: none}"
says out "positions: rotary"
says out "biases: false"
says out "norm: layernorm"

# Under JAX a layer that runs again leaves out what no gradient reads (its last product), and what is kept by name; PyTorch's runs whole.
cat >jax.csv <<CSV
row_id,gpu,gpus,layers,hidden,heads,ffn,ffn_act,seq,tp,pp,zero_stage,shard_strategy,global_batch,micro_batch,recompute,framework,precision,step_time_s
pruned,H100-SXM-80GB,32,8,4096,32,11008,swiglu,4096,1,1,3,groups of 16,64,2,full,MaxText,bf16,1
kept,H100-SXM-80GB,32,8,4096,32,11008,swiglu,4096,1,1,3,,64,2,"full (but q, k, v, out kept)",MaxText,bf16,1
whole,H100-SXM-80GB,32,8,4096,32,11008,swiglu,4096,1,1,3,,64,2,full,Composer + PyTorch FSDP,bf16,1
CSV
run 0 validate jax.csv --row pruned --scenario
says out "shard_group: 16"
says out "operations: [norm1, qkv, rotary, attention, projection, attention_add, norm2, mlp_up, swiglu]"
run 0 validate jax.csv --row kept --scenario
says out "operations: [norm1, rotary, attention, attention_add, norm2, mlp_up, swiglu]"
run 0 validate jax.csv --row whole --scenario
says out "recompute: {mode: full}"

run 2 validate nowhere.csv
printf 'run_id,model,gpu,gpus,global_batch,seq_len,tp,pp,step_time_s\na,llama2-7b,H100,8,64,4096,1,1,2.5\n' >near.csv
run 2 validate near.csv
says err "it lacks the columns row_id (is run_id it?), seq (is seq_len it?))"
printf 'x,y\n1,2\n' >other.csv
run 2 validate other.csv
says err "it lacks the columns row_id, gpu, gpus, seq, tp, pp, global_batch, layers, hidden, heads)"
empty out
: >nothing.csv
run 2 validate nothing.csv
sed 's/,note$//' table.csv >ragged.csv
run 2 validate ragged.csv
says err "ragged.csv:2"

# A table with a heading alone: said as such, and not as a missing row.
echo "$head" >empty.csv
run 2 validate empty.csv
says err "headings and no rows"
finish
