#!/bin/sh
# What people type for Slurm, against muster called by the names of its commands.
set -eu
cd "$(dirname "$0")"
sinfo
jobid=$(sbatch --parsable job.sh)
squeue --me
squeue -j "$jobid"
scontrol show job "$jobid"
n=0
until squeue -h -t COMPLETED -o %i | grep -qx "$jobid"; do
	n=$((n + 1)); [ $n -lt 600 ] || { squeue -t all; exit 1; }
	sleep 0.1
done
srun -Q hostname
srun -Q --gres=gpu:1 sh -c 'echo $CUDA_VISIBLE_DEVICES' | grep -q .
array=$(sbatch --parsable -a 0-3%2 --wrap 'sleep 600')
squeue -r -j "$array"
scancel "$array"
sbatch --wait -Q --wrap true
sbatch --parsable --wrap 'sleep 600'
scancel --me
echo "slurm: as documented"
