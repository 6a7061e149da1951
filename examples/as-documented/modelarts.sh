#!/bin/sh
# The numbers of ModelArts' jobs, JOBSTAT, as `--dialect modelarts` says them.
set -eu
code() { muster get "$1" --dialect modelarts --columns status --no-headers; }
until_is() { # NAME CODE
	n=0
	until code "$1" | grep -qx "$2"; do
		n=$((n + 1)); [ $n -lt 600 ] || { muster describe "$1" --dialect modelarts; exit 1; }
		sleep 0.1
	done
}

# All of them are in the vocabulary.
all=$(muster lifecycle --dialect modelarts --columns code --no-headers)
for n in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21; do
	echo "$all" | grep -qx "$n" || { echo "JOBSTAT $n is missing"; exit 1; }
done

muster run --name done -- true
until_is done '10 JOBSTAT_COMPLETED'
muster run --name wrong -- sh -c 'exit 1'
until_is wrong '11 JOBSTAT_FAILED'
muster run --name long --gpus 8 -- sleep 600
until_is long '8 JOBSTAT_RUNNING'
muster run --name waits --gpus 8 -- sleep 600
until_is waits '7 JOBSTAT_WAITING'
muster stop waits
until_is waits '13 JOBSTAT_CANCELED'
muster stop long
until_is long '12 JOBSTAT_KILLED'

# A job that is reviewed first.
muster run --name reviewed --check name=legal,type=approval -- true
until_is reviewed '19 JOBSTAT_CHECK_RUNNING'
muster approve reviewed
until_is reviewed '10 JOBSTAT_COMPLETED'
muster run --name refused --check name=legal,type=approval -- true
until_is refused '19 JOBSTAT_CHECK_RUNNING'
muster reject refused
until_is refused '21 JOBSTAT_CHECK_FAILED'

# The path that it came: being initialized, queuing, running, completed.
muster lifecycle done --dialect modelarts -o json | grep -q JOBSTAT_INIT
echo "modelarts: as documented"
