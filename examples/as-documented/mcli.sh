#!/bin/sh
# The lines of MosaicML's page on the life of a run, as printed there, against
# muster called as mcli. RUN stands for the name that mcli has printed.
set -eu
cd "$(dirname "$0")"
until_is() { # RUN STATUS
	n=0
	until mcli get runs "$1" | grep -q "$2"; do
		n=$((n + 1)); [ $n -lt 600 ] || { mcli get runs "$1"; exit 1; }
		sleep 0.1
	done
}

# Submit a run, see where it is.
mcli run -f example.yaml
RUN=$(mcli get runs --latest -o name)
mcli get runs
mcli util | grep -q '^NAME *GPU_INSTANCE_TYPE *GPUS_AVAILABLE *GPUS_USED *GPUS_TOTAL$'
until_is "$RUN" Completed
mcli logs "$RUN" | grep -q 'hello from node 0 of 2'
mcli logs "$RUN" --rank 1 | grep -q 'hello from node 1 of 2'
mcli describe run "$RUN" | grep -q 'Run completed successfully'

# One that fails: status and reason, the image, the rank that failed, a rank.
sed 's/{GREETING: hello}/{GREETING: hello, FAILS: "1", SLEEPS: "60"}/' example.yaml | mcli run -f - 
RUN=$(mcli get runs --latest -o name)
until_is "$RUN" 'Failed (1)'
mcli get runs
mcli describe run "$RUN" | grep -q 'Run failed with exit code 1'
mcli logs "$RUN" --failed | grep -q 'node 1 fails'
mcli logs "$RUN" --rank 1 | grep -q 'hello from node 1'
mcli logs "$RUN" --rank 0 # which may have been ended before it said anything

# It is run again from its beginning, under the same name.
mcli run -r "$RUN"
until_is "$RUN" ' 1 *Failed (1)'
mcli describe run "$RUN" | grep -q 'Run placed back in the scheduling queue\|Run resumed'
mcli logs "$RUN" --resumption 0 --rank 1 | grep -q 'node 1 fails'

# One that runs is stopped, and may be run again.
sed 's/{GREETING: hello}/{GREETING: hello, SLEEPS: "600"}/' example.yaml | mcli run -f -
RUN=$(mcli get runs --latest -o name)
until_is "$RUN" Running
mcli util | grep -q "^local  *$RUN .* 4  *medium$"
mcli stop run "$RUN"
until_is "$RUN" Stopped
mcli run -r "$RUN"
until_is "$RUN" Running
mcli stop run "$RUN"
until_is "$RUN" Stopped
mcli delete run "$RUN"
echo "mcli: as documented"
