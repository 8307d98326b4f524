#!/bin/bash
#SBATCH --nodes=16
srun python run_recipe.py --recipe llama3_70b_pretrain_config trainer.num_nodes=16 trainer.devices=8 train.global_batch_size=128
