#!/bin/bash
#SBATCH --job-name=either
#SBATCH --nodes=2
#SBATCH --gpus-per-node=1
#SBATCH --constraint="(a100|gpu=h100)&nvlink"
#SBATCH --exclude=n7
srun python train.py
