package slurmsite

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// Label is that of nodes by which the pool of a partition gathers them.
const Label = "partition"

// hostsMost bounds how many names one expression of nodes may stand for.
const hostsMost = 100_000

// partitions reads slurm.conf: a partition is the pool of the nodes that it has and no
// partition before it. A node is in one pool.
func (s *Site) partitions(text string) error {
	text = strings.ReplaceAll(text, "\\\n", " ") // a line that goes on
	nodes, in, gpus := []string(nil), map[string]string{}, map[string]string{}
	var lines [][]option
	for _, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := wordsOf(line)
		if len(words) == 0 {
			continue
		}
		if strings.EqualFold(strings.Fields(line)[0], "include") {
			s.note(strings.TrimSpace(line), "what it includes was not read: name that file, too")
			continue
		}
		switch strings.ToLower(words[0].name) {
		case "nodename":
			if strings.EqualFold(words[0].value, "DEFAULT") {
				s.note("NodeName=DEFAULT", "what nodes have is asked of the cluster")
				continue
			}
			names, err := hosts(words[0].value)
			if err != nil {
				return err
			}
			nodes = append(nodes, names...)
			for _, o := range words {
				if strings.EqualFold(o.name, "Gres") {
					for _, n := range names {
						gpus[n] = o.value
					}
				}
			}
		case "partitionname":
			lines = append(lines, words)
		}
	}
	for _, words := range lines {
		if err := s.partition(words, nodes, in, gpus); err != nil {
			return err
		}
	}
	return nil
}

// wordsOf are the NAME=VALUE of a line.
func wordsOf(line string) (all []option) {
	for _, word := range strings.Fields(line) {
		if name, value, ok := strings.Cut(word, "="); ok {
			all = append(all, option{name, strings.Trim(value, `"`)})
		}
	}
	return all
}

func (s *Site) partition(words []option, nodes []string, in, gpus map[string]string) error {
	if strings.EqualFold(words[0].value, "DEFAULT") {
		for _, o := range words[1:] {
			s.note("PartitionName=DEFAULT "+o.name+"="+o.value, "it holds for the partitions below it: look at each")
		}
		return nil
	}
	name, err := named(words[0].value)
	if err != nil {
		return err
	}
	about, r := "partition "+words[0].value, Record{Fields: head("Pool", name, "")}
	r.Fields = append(r.Fields, yaml.MapItem{Key: "selector", Value: Label + "=" + name})
	for _, o := range words[1:] {
		what := about + ": " + o.name + "=" + o.value
		switch strings.ToLower(o.name) {
		case "nodes":
			err = s.members(&r, name, o.value, nodes, in, gpus)
		case "default":
			if strings.EqualFold(o.value, "YES") {
				s.note(what, "say poolOrder: ["+name+"] of the projects, or of departments above them")
			}
		case "state":
			if !strings.EqualFold(o.value, "UP") {
				s.note(what, "muster node cordon keeps its nodes from taking work")
			}
		case "maxtime":
			if o.value != "UNLIMITED" && o.value != "INFINITE" {
				s.note(what, "time limits are of projects: timeLimit; or of all, in a policy")
			}
		case "allowaccounts", "allowgroups", "denyaccounts", "allowqos", "denyqos":
			s.note(what, "who may use a pool is said of the others: pools: {"+name+": {gpu: {limit: 0}, cpu: {limit: 0}}}")
		case "prioritytier", "priorityjobfactor", "preemptmode":
			s.note(what, "who goes first is said by priorities of workloads and by quotas of projects")
		default:
			s.note(what, "it is not read")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	s.Records = append(s.Records, r)
	return nil
}

// members are the nodes of a partition that none before it has.
func (s *Site) members(r *Record, pool, expression string, nodes []string, in, gpus map[string]string) error {
	names, err := nodes, error(nil)
	if !strings.EqualFold(expression, "ALL") {
		names, err = hosts(expression)
	}
	if err != nil {
		return err
	}
	var own []string
	shared, cards := map[string]int{}, 0
	for _, n := range names {
		if first := in[n]; first != "" && first != pool {
			shared[first]++
			continue
		}
		in[n] = pool
		own = append(own, n)
		cards += gpusOf(gpus[n])
	}
	r.Remarks = append(r.Remarks, fmt.Sprintf("%d nodes, %d GPUs", len(own), cards))
	var firsts []string
	for first := range shared {
		firsts = append(firsts, first)
	}
	slices.Sort(firsts)
	for _, first := range firsts {
		s.note("partition "+pool, fmt.Sprintf("%d of its nodes are in %s too, and a node is in one pool: they are in that", shared[first], first))
	}
	for _, n := range own {
		s.Commands = append(s.Commands, fmt.Sprintf("muster node label %s %s=%s", n, Label, pool))
	}
	return nil
}

// gpusOf counts them in a Gres: gpu:4, gpu:a100:4(S:0-1), gpu.
func gpusOf(gres string) (all int) {
	for _, one := range strings.Split(gres, ",") {
		one, _, _ = strings.Cut(one, "(")
		parts := strings.Split(one, ":")
		if parts[0] != "gpu" {
			continue
		}
		n, err := strconv.Atoi(parts[len(parts)-1])
		if err != nil {
			n = 1
		}
		all += n
	}
	return all
}

// hosts are the names that an expression such as a,n[01-03,7] stands for.
func hosts(expression string) (all []string, err error) {
	for expression != "" {
		one := expression
		depth := 0
		for i, r := range expression {
			if r == '[' {
				depth++
			} else if r == ']' {
				depth--
			} else if r == ',' && depth == 0 {
				one = expression[:i]
				break
			}
		}
		expression = strings.TrimPrefix(expression[len(one):], ",")
		names, err := expand(one, hostsMost-len(all))
		if err != nil {
			return nil, fmt.Errorf("nodes %q: %w", one, err)
		}
		all = append(all, names...)
	}
	return all, nil
}

func expand(one string, most int) ([]string, error) {
	before, rest, ok := strings.Cut(one, "[")
	if before != "" && !word.MatchString("n"+before) {
		return nil, errors.New("it is no name of a node")
	}
	if !ok {
		return []string{one}, nil
	}
	inside, after, ok := strings.Cut(rest, "]")
	if !ok {
		return nil, errors.New("a bracket is not closed")
	}
	ends, err := expand(after, most)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, part := range strings.Split(inside, ",") {
		from, to, ranged := strings.Cut(part, "-")
		if !ranged {
			to = from
		}
		a, err1 := strconv.ParseUint(from, 10, 31)
		b, err2 := strconv.ParseUint(to, 10, 31)
		if err := errors.Join(err1, err2); err != nil || a > b {
			return nil, fmt.Errorf("%q is no range of numbers", part)
		}
		if (b-a+1)*uint64(len(ends)) > uint64(max(0, most-len(all))) {
			return nil, fmt.Errorf("it stands for more than %d names", hostsMost)
		}
		for n := a; n <= b; n++ {
			for _, end := range ends {
				all = append(all, fmt.Sprintf("%s%0*d%s", before, len(from), n, end))
			}
		}
	}
	return all, nil
}
