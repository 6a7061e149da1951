package slurm

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
)

// gresUsed is a field of sinfo that has a long name only.
const gresUsed = 1

// Long names of fields (slurm.schedmd.com/squeue.html and sinfo.html,
// --Format), with the letters of the same fields.
var (
	longJobs = map[string]byte{
		"account": 'a', "arrayjobid": 'F', "command": 'o', "comment": 'k', "endtime": 'e', "gres": 'b', "jobarrayid": 'i', "jobid": 'A',
		"minmemory": 'm', "name": 'j', "nodelist": 'N', "numcpus": 'C', "numnodes": 'D', "partition": 'P', "priority": 'p', "prioritylong": 'Q',
		"qos": 'q', "reason": 'r', "reasonlist": 'R', "schednodes": 'Y', "starttime": 'S', "state": 'T', "statecompact": 't', "submittime": 'V',
		"timeleft": 'L', "timelimit": 'l', "timeused": 'M', "tres-per-node": 'b', "username": 'u', "workdir": 'Z',
		"arraytaskid": 'K', "batchflag": batchLetter, "batchhost": 'B', "cluster": clusterLetter, "contiguous": 'O', "cores": 'I', "corespec": 'X', "cpus-per-task": perTaskLetter,
		"dependency": 'E', "eligibletime": 'V', "exit_code": exitLetter, "feature": 'f', "groupid": 'G', "groupname": 'g', "licenses": 'W', "mincpus": 'c', "mintmpdisk": 'd', "nice": 'y',
		"numtasks": tasksLetter, "oversubscribe": 'h', "pendingtime": waitedLetter, "reqnodes": 'n', "reservation": 'v', "restartcnt": restartsLetter, "sct": 'z', "stderr": stderrLetter,
		"stdout": stdoutLetter, "threads": 'J', "tres-alloc": tresLetter, "tres": tresLetter, "userid": 'U', "wckey": 'w',
	}
	longNodeFields = map[string]byte{
		"available": 'a', "cores": 'Y', "cpus": 'c', "cpusload": 'O', "cpusstate": 'C', "disk": 'd', "features": 'f', "features_act": 'b',
		"freemem": 'e', "gres": 'G', "gresused": gresUsed, "groups": 'g', "maxcpuspernode": 'B', "memory": 'm', "nodeai": 'A', "nodeaiot": 'F',
		"nodehost": 'n', "nodelist": 'N', "nodes": 'D', "oversubscribe": 'h', "partition": 'P', "partitionname": 'R', "prioritytier": 'p',
		"reason": 'E', "root": 'r', "size": 's', "socketcorethread": 'z', "sockets": 'X', "statecompact": 't', "statelong": 'T', "threads": 'Z',
		"time": 'l', "timestamp": 'H', "user": 'u', "weight": 'w',
	}
)

// fieldsOf reads --Format or --format, and otherwise what is usual.
func fieldsOf(c *compat.Call, usual string, long map[string]byte) ([]field, string, error) {
	if c.Given("Format") {
		fields, err := parseLong(c.Text("Format"), long)
		return fields, "", err
	}
	return parse(usual)
}

// parseLong reads a list of fields by name, NAME[:[.][WIDTH]]; each is 20 wide
// unless it says otherwise.
func parseLong(list string, known map[string]byte) (fields []field, err error) {
	for word := range strings.SplitSeq(list, ",") {
		name, size, sized := strings.Cut(strings.TrimSpace(word), ":")
		letter, ok := known[strings.ToLower(name)]
		if i := slices.Index(restJobs, strings.ToLower(name)); i >= 0 && known["jobid"] != 0 {
			letter, ok = byte(firstRest+i), true
		}
		if !ok {
			return nil, cli.Wrong(fmt.Sprintf("--Format: there is no field %q", name), "they are "+strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		f := field{letter: letter, width: 20}
		if sized {
			size, f.right = strings.CutPrefix(size, ".")
			if f.width, err = strconv.Atoi(size); err != nil || f.width < 0 || f.width > 10_000 {
				return nil, cli.Wrong(fmt.Sprintf("--Format: %q has a width that is none", word), "like "+name+":30")
			}
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// used are the devices of a node that are held, by their kind and index.
func (g nodeGroup) used() string {
	n := g[0]
	if len(n.Devices) == 0 {
		return "(null)"
	}
	var held []int
	for _, d := range n.Devices {
		if d.Used > 0 {
			held = append(held, d.Index)
		}
	}
	which := "N/A"
	if len(held) > 0 {
		which = indexes(held)
	}
	return fmt.Sprintf("%s:%d(IDX:%s)", strings.TrimSuffix(gres(n), fmt.Sprintf(":%d", len(n.Devices))), len(held), which)
}
