#!/bin/sh
# The lines of Run:ai's pages on submitting jobs and on their statuses, as printed
# there, against muster called as runai. IMAGE takes the place of the image of
# their demonstration.
set -eu
IMAGE=${IMAGE:-gcr.io/run-ai-demo/quickstart}
until_is() { # JOB STATUS
	n=0
	until runai list jobs | grep -q "^$1 *$2"; do
		n=$((n + 1)); [ $n -lt 600 ] || { runai list jobs; exit 1; }
		sleep 0.1
	done
}

runai login
runai config project default
runai list projects

# Training: Pending, ContainerCreating, Running, Succeeded.
runai submit train1 -i "$IMAGE" -g 1 --command -- sh -c 'echo step 1; sleep 2; echo step 2'
runai list jobs
runai describe job train1
until_is train1 Succeeded
runai logs train1 | grep -q 'step 2'

# An error, and no more attempts: Fail.
runai submit train2 -i "$IMAGE" -g 1 --backoff-limit 0 --command -- sh -c 'exit 1'
until_is train2 Fail
runai describe job train2 | grep -q 'Status: *Fail'
runai describe job train2 | grep -q 'Failed PODs: *1'

# A bad image.
runai submit train3 -i localhost:1/no/such:image -g 1
until_is train3 ImagePullBackOff
runai describe job train3 | grep -q '\[ImagePullBackOff\] train3-0-0: .*localhost:1'
runai delete job train3

# Interactive: it runs until it is deleted.
runai submit build1 -i "$IMAGE" -g 1 --interactive --command -- sleep 600
until_is build1 Running
runai exec build1 -- echo inside
runai list jobs
runai suspend build1
runai resume build1
until_is build1 Running
runai delete job build1

# Distributed.
runai submit-dist pytorch --name dist1 --workers=2 --cpu 0.2 -i "$IMAGE" -g 1 --command -- sh -c 'echo rank $RANK of $WORLD_SIZE'
until_is dist1 Succeeded
runai describe job dist1
runai logs dist1 --pod dist1-worker-1 | grep -q 'rank 2 of 3'
runai submit-dist mpi --name dist2 --workers=2 --cpu 0.2 -i "$IMAGE" -g 1 -- sh -c 'echo launched'
until_is dist2 Succeeded
runai logs dist2 | grep -q launched
runai describe job dist2 >described # it began with an init container, and nothing of it failed
for line in '\[Init:0/1\] dist2-launcher' '\[PodInitializing\] dist2-launcher' '\[Scheduled\] assigned runai-default/dist2-worker-1 to' 'Failed PODs: *0$' '^GPUs: *2$' '^Total Requested GPUs: *2$' '^dist2-worker-0 *Succeeded'; do
	grep -q "$line" described || { echo "no $line"; cat described; exit 1; }
done
runai delete job dist2

# The newer command line.
runai workspace submit ws1 -i "$IMAGE" --gpu-devices-request 1 --command -- sleep 600
runai workspace list
until_is ws1 Running
runai workspace describe ws1
runai workspace exec ws1 -- echo inside
runai workspace delete ws1
runai training submit tr1 -i "$IMAGE" --gpu-portion-request 0.5 --command -- sh -c 'echo trained'
until_is tr1 Succeeded
runai training logs tr1 | grep -q trained
runai workload list
runai training delete tr1
echo "runai: as documented"
