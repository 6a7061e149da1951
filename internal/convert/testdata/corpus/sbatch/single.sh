#!/bin/bash
#SBATCH --job-name=mnist
#SBATCH --time=02:00:00
#SBATCH --gres=gpu:a100:1
#SBATCH --cpus-per-task=8
#SBATCH --mem=32G
#SBATCH --output=logs/%x-%j.out

module load cuda/12.4
source venv/bin/activate
python train.py --epochs 10
