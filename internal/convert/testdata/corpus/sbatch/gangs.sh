#!/bin/bash
#SBATCH --job-name=sweep-wide
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --array=1-5:2%1
#SBATCH --qos=premium
#SBATCH --output=logs/%x_%A_%a.out
srun python train.py --lr-index "$SLURM_ARRAY_TASK_ID"
