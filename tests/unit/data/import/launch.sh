#!/bin/bash
#SBATCH --nodes=4
GPUS=${GPUS_PER_NODE:-8}
TP=4   # in a node
HIDDEN=$((TP * 1024))
MODEL=(
    --num-layers 32 --hidden-size "$HIDDEN"
    --num-attention-heads 32 # of which 8 have keys
    --group-query-attention --num-query-groups 8
    --ffn-hidden-size 14336 --swiglu
    --normalization RMSNorm --position-embedding-type rope --disable-bias-linear
    --untie-embeddings-and-output-weights --vocab-size 128256
    --attention-dropout 0 --hidden-dropout 0
)
OTHERS="--bf16 --micro-batch-size 1 --global-batch-size 128 \
    --seq-length 8192 --train-iters 1000 --lr 3e-4"
torchrun --nproc_per_node "$GPUS" pretrain_gpt.py "${MODEL[@]}" $OTHERS \
    --tensor-model-parallel-size $TP --pipeline-model-parallel-size 2 \
    --sequence-parallel --use-distributed-optimizer --overlap-grad-reduce \
    --no-rope-fusion --tensorboard-dir "$OUT"
