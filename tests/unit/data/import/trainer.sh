#!/bin/bash
CONFIG=zero3.json
cat > $CONFIG <<JSON
{
  "bf16": {"enabled": "auto"},
  "train_micro_batch_size_per_gpu": "auto",
  "gradient_clipping": 1.0,
  "zero_optimization": {
    "stage": ${STAGE:-3},
    "overlap_comm": true,
    "stage3_max_live_parameters": 1e9,
    "offload_optimizer": {"device": "cpu", "pin_memory": true}
  }
}
JSON
deepspeed --num_gpus 8 --num_nodes 2 run_clm.py --deepspeed $CONFIG \
    --model_name_or_path meta-llama/Meta-Llama-3-8B --block_size 4096 \
    --per_device_train_batch_size 2 --gradient_accumulation_steps 4 \
    --bf16 True --gradient_checkpointing True --max_steps 1000 \
    --learning_rate 2e-5 --output_dir "$OUT"
