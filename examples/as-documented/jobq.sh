#!/bin/sh
# jobq's commands and states. The package jobq must be importable: it is part of
# muster's SDK.
set -eu
cd "$(dirname "$0")"
state() { muster jobq status "$1" | sed -n 's/^Status *//p'; }
until_is() { # ID STATE
	n=0
	until [ "$(state "$1")" = "$2" ]; do
		n=$((n + 1)); [ $n -lt 600 ] || { muster jobq status "$1"; exit 1; }
		sleep 0.1
	done
}

id=$(muster jobq submit python/jobq_hello.py | tail -1)
muster jobq list
until_is "$id" Succeeded
muster jobq logs "$id"

# Admitted while it is executed; stopped, it is there no more for jobq.
id=$(muster run --gpus 1 -o name -- sleep 600)
until_is "$id" Admitted
muster jobq stop "$id"

# Failed once its last try has.
id=$(muster run -o name -- sh -c 'exit 1')
until_is "$id" Failed

# Submitted while it waits for quota, Inadmissible while its queue is stopped.
hog=$(muster run --gpus 8 -o name -- sleep 600)
until_is "$hog" Admitted
id=$(muster run --gpus 8 -o name -- true)
until_is "$id" Submitted
muster project stop default
until_is "$id" Inadmissible
muster project start default
until_is "$id" Submitted
muster jobq stop "$hog"
until_is "$id" Succeeded
echo "jobq: as documented"
