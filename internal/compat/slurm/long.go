package slurm

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
)

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

// longFields are those by the tool that has them.
var longFields = map[string]map[string]byte{"squeue": longJobs, "sinfo": longNodeFields}

// longNames are the long names of a tool's fields, in order.
func longNames(tool string) []string {
	names := slices.Collect(maps.Keys(longFields[tool]))
	if tool == "squeue" {
		names = append(names, restJobs...)
	}
	slices.Sort(names)
	return names
}

// listing is the long names of a tool's fields as its help shows them.
func listing(tool string) string {
	text, line := "Fields of --Format:", ""
	for _, name := range longNames(tool) {
		if len(line)+len(name) > 78 {
			text, line = text+"\n"+strings.TrimRight(line, " "), ""
		}
		line += name + " "
	}
	return text + "\n" + strings.TrimRight(line, " ") + "."
}

// fieldsOf reads --Format or --format, and otherwise what is usual.
func fieldsOf(c *compat.Call, tool, usual string) ([]field, string, error) {
	if c.Given("Format") {
		fields, err := parseLong(tool, c.Text("Format"))
		return fields, "", err
	}
	return parse(usual)
}

// parseLong reads a list of fields by name, NAME[:[.][WIDTH]]; each is 20 wide
// unless it says otherwise.
func parseLong(tool, list string) (fields []field, err error) {
	known := longFields[tool]
	for word := range strings.SplitSeq(list, ",") {
		name, size, sized := strings.Cut(strings.TrimSpace(word), ":")
		letter, ok := known[strings.ToLower(name)]
		if i := slices.Index(restJobs, strings.ToLower(name)); i >= 0 && tool == "squeue" {
			letter, ok = byte(firstRest+i), true
		}
		if !ok {
			return nil, cli.Wrong(fmt.Sprintf("--Format: there is no field %q", name), terms.Meant(name, longNames(tool), tool+" --help lists the fields"))
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
