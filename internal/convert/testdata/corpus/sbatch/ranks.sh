#!/bin/bash -l
#SBATCH --nodes=2
#SBATCH --ntasks=8
#SBATCH --gpus=8
#SBATCH --cpus-per-gpu=12
#SBATCH --mem-per-gpu=64G
#SBATCH --constraint=h100&ib
#SBATCH --exclude=node[07-09]
srun --label python train.py
