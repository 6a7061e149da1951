#!/usr/bin/env bash
#SBATCH --job-name="Megatron LM"
#SBATCH --nodes 2
#SBATCH --gpus-per-task=1 --ntasks-per-node=8
#SBATCH --container-image=docker://nvcr.io#nvidia/pytorch:24.10-py3
#SBATCH --container-mounts=/lustre/data:/data:ro,/lustre/ckpt:/ckpt
#SBATCH --container-workdir=/workspace
#SBATCH --export=ALL,NCCL_DEBUG=INFO
srun python pretrain.py
