package slurmsite

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/musterhq/muster/internal/convert/slurm"
)

// account is one of a dump, with who may use it.
type account struct {
	name, ours, parent string
	options            []option
	below              []*account
	users              []user
}

// option is NAME='VALUE' of a line, in its order.
type option struct{ name, value string }

type user struct {
	name    string
	options []option
}

// accounts reads what sacctmgr dump writes: lines of KIND - 'NAME':OPTION=VALUE:…, of
// which a Parent says below which account the following ones stand.
func (s *Site) accounts(text string) error {
	all, order, parent := map[string]*account{"root": {name: "root"}}, []*account(nil), "root"
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		kind, rest, ok := strings.Cut(line, " - ")
		name, options, err := optionsOf(rest)
		if !ok || err != nil || name == "" {
			return fmt.Errorf("line %d: %q is not KIND - 'NAME':OPTION=VALUE: %v", n+1, line, err)
		}
		switch kind {
		case "Cluster":
			s.ofCluster(name, options)
		case "Parent":
			if parent = name; all[parent] == nil {
				return fmt.Errorf("line %d: the account %q comes before it is made", n+1, name)
			}
		case "Account":
			if all[name] != nil {
				return fmt.Errorf("line %d: the account %q is there twice", n+1, name)
			}
			a := &account{name: name, parent: parent, options: options}
			if a.ours, err = named(name); err != nil {
				return fmt.Errorf("line %d: %w", n+1, err)
			}
			all[name], order = a, append(order, a)
			all[parent].below = append(all[parent].below, a)
		case "User":
			all[parent].users = append(all[parent].users, user{name, options})
		default:
			return fmt.Errorf("line %d: %q is none of Cluster, Parent, Account, User", n+1, kind)
		}
	}
	taken := map[string]string{}
	for _, a := range order {
		if was := taken[a.ours]; was != "" {
			return fmt.Errorf("the accounts %q and %q would both be called %s: rename one in the dump", was, a.name, a.ours)
		}
		taken[a.ours] = a.name
	}
	for _, a := range order {
		s.ofAccount(a, all[a.parent])
	}
	for _, u := range all["root"].users {
		if u.name != "root" {
			s.note("user "+u.name+" of account root", "there is no project above all: give them a role in the system, muster access-rule create --user "+u.name)
		}
	}
	return nil
}

// shares is its Fairshare.
func (a *account) shares() string {
	for _, o := range a.options {
		if name := strings.ToLower(o.name); name == "fairshare" || name == "shares" {
			return o.value
		}
	}
	return "1"
}

// optionsOf reads 'NAME':A=B:C='D:E'. Options begin with a capital letter.
func optionsOf(rest string) (name string, all []option, err error) {
	var parts []string
	part, quoted := strings.Builder{}, false
	for _, r := range rest {
		switch {
		case r == '\'':
			quoted = !quoted
		case r == ':' && !quoted:
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteRune(r)
		}
	}
	if quoted {
		return "", nil, fmt.Errorf("a quote is not closed")
	}
	parts = append(parts, part.String())
	for _, p := range parts[1:] {
		name, value, ok := strings.Cut(p, "=")
		switch last := len(all) - 1; {
		case ok && name != "" && name[0] >= 'A' && name[0] <= 'Z':
			all = append(all, option{name, value})
		case last >= 0: // a colon within a value: of a length of time, or gres/gpu:a100
			all[last].value += ":" + p
		default:
			return "", nil, fmt.Errorf("%q is no OPTION=VALUE", p)
		}
	}
	return parts[0], all, nil
}

func (s *Site) ofCluster(name string, options []option) {
	for _, o := range options {
		if !strings.EqualFold(o.name, "Fairshare") && !strings.EqualFold(o.name, "QOS") {
			s.note(fmt.Sprintf("cluster %s: %s=%s", name, o.name, o.value), "it holds for all accounts: say it of each department and project")
		}
	}
}

// ofAccount makes a department of an account with others below it, and else a project.
func (s *Site) ofAccount(a, above *account) {
	kind, parent := "Project", ""
	if len(a.below) > 0 {
		kind = "Department"
	}
	if above.name != "root" {
		parent = above.ours
	}
	r := Record{Fields: head(kind, a.ours, parent)}
	x := limits{site: s, about: "account " + a.name}
	if slices.ContainsFunc(above.below, func(b *account) bool { return b.shares() != "1" }) {
		x.weight = "1" // what Slurm takes where nothing is said; among weights of others ours would be 2
	}
	for _, o := range a.options {
		x.read(o, &r)
	}
	r.Fields = append(r.Fields, x.fields()...)
	if a.ours != a.name {
		s.note(x.about, "it is called "+a.ours+" here")
	}
	s.Records = append(s.Records, r)
	where := a.ours
	if kind == "Department" && len(a.users) > 0 {
		where += "-own" // departments take no work
		s.Records = append(s.Records, Record{
			Remarks: []string{"What users of " + a.name + " submit to it and to no account below."}, Fields: head("Project", where, a.ours),
		})
		s.note(x.about, "it has users and accounts below it: what these users submit goes to the project "+where+", whose weight against these accounts is for you to say")
	}
	s.ofUsers(a, where)
}

func head(kind, name, parent string) yaml.MapSlice {
	m := yaml.MapSlice{{Key: "kind", Value: kind}, {Key: "name", Value: name}}
	if parent != "" {
		m = append(m, yaml.MapItem{Key: "parent", Value: parent})
	}
	return m
}

func (s *Site) ofUsers(a *account, project string) {
	for _, u := range a.users {
		if !word.MatchString(u.name) {
			s.note(fmt.Sprintf("user %q of account %s", u.name, a.name), "that is no name of a user")
			continue
		}
		role := "l1-researcher"
		for _, o := range u.options {
			about := fmt.Sprintf("user %s of account %s: %s=%s", u.name, a.name, o.name, o.value)
			switch strings.ToLower(o.name) {
			case "coordinator":
				if slices.Contains(strings.Split(o.value, ","), a.name) {
					role = "project-lead"
				}
			case "adminlevel":
				if o.value != "None" {
					s.note(about, "muster access-rule create --user "+u.name+" --role system-administrator, if that is meant")
				}
			case "defaultaccount", "defaultwckey", "wckeys":
			case "fairshare":
				if o.value != "1" && o.value != "parent" {
					s.note(about, "users of a project share it alike")
				}
			default:
				s.note(about, "a project's userLimit holds for each of its users alike")
			}
		}
		if !slices.Contains(s.Commands, "muster user create "+u.name) {
			s.Commands = append(s.Commands, "muster user create "+u.name)
		}
		s.Commands = append(s.Commands, fmt.Sprintf("muster access-rule create --user %s --role %s --project %s", u.name, role, project))
	}
}

// limits are what an account may use, as options say it one after another.
type limits struct {
	site   *Site
	about  string
	amount [3]*string // limits of gpu, cpu and memory, in our units
	weight string
	rest   yaml.MapSlice
	user   yaml.MapSlice
}

var resources = [3]string{"gpu", "cpu", "memory"}

func (x *limits) note(o option, why string) { x.site.note(x.about+": "+o.name+"="+o.value, why) }

// read takes one option. Slurm writes some under two names, older ones first.
func (x *limits) read(o option, r *Record) {
	switch strings.ToLower(o.name) {
	case "description":
		r.Remarks = append(r.Remarks, o.value)
	case "organization", "defaultqos", "coordinators":
	case "qos":
		if o.value != "normal" && o.value != "" {
			x.note(o, "priorities here are build, train, …: what a QOS lets its jobs have is said of projects, or in policies")
		}
	case "fairshare", "shares":
		if _, err := strconv.ParseUint(o.value, 10, 31); err != nil {
			x.note(o, "shares are numbers here")
		} else if x.weight != "" {
			x.weight = o.value
		}
	case "grptres":
		x.group(o)
	case "grpcpus":
		x.amount[1] = &o.value
	case "grpjobs":
		x.count(o, &x.rest)
	case "maxjobs", "maxjobsperuser":
		x.count(o, &x.user)
	case "maxwall", "maxwalldurationperjob", "maxwallduration":
		d, ok := slurm.TimeLimit(o.value)
		if !ok || d <= 0 {
			x.note(o, "it is no length of time")
			return
		}
		x.rest = append(x.rest, yaml.MapItem{Key: "timeLimit", Value: yaml.MapSlice{{Key: "training", Value: d.String()}, {Key: "distributed", Value: d.String()}}})
	case "grptresmins", "grpcpumins":
		x.note(o, "a budget here is of GPU-hours in a period: budgetGpuHours and budgetPeriod")
	case "maxtresperjob", "maxtres", "maxtrespernode", "maxcpusperjob", "maxnodesperjob":
		x.note(o, "what one workload may ask for is said in a policy: muster policy --help")
	default:
		x.note(o, "there is nothing like it here")
	}
}

func (x *limits) count(o option, in *yaml.MapSlice) {
	n, err := strconv.ParseUint(o.value, 10, 31)
	if err != nil || n == 0 {
		x.note(o, "0, or none, keeps everything from starting: muster project stop does that")
		return
	}
	*in = append(*in, yaml.MapItem{Key: "maxRunning", Value: n})
}

// group takes GrpTRES: what all below may use at once.
func (x *limits) group(o option) {
	for _, one := range strings.Split(o.value, ",") {
		name, value, _ := strings.Cut(one, "=")
		part := option{o.name, one}
		switch name {
		case "gres/gpu":
			x.amount[0] = &value
		case "cpu":
			x.amount[1] = &value
		case "mem":
			x.amount[2] = memory(value)
			if x.amount[2] == nil {
				x.note(part, "it is no amount of memory")
			}
		default:
			if strings.HasPrefix(name, "gres/gpu:") {
				x.note(part, "limits here are by pool, and not by type of GPU: give that type's nodes a pool, and say it of that")
				continue
			}
			x.note(part, "it is not counted here")
		}
	}
}

// memory is an amount of Slurm, in MB where it says nothing else.
func memory(value string) *string {
	n := strings.TrimRight(value, "KMGTP")
	if _, err := strconv.ParseUint(n, 10, 50); err != nil || len(value)-len(n) > 1 {
		return nil
	}
	unit := value[len(n):]
	if unit == "" {
		unit = "M"
	}
	out := n + unit + "i"
	return &out
}

// fields are those of the record.
func (x *limits) fields() (all yaml.MapSlice) {
	var quotas yaml.MapSlice
	for i, name := range resources {
		var q yaml.MapSlice
		if a := x.amount[i]; a != nil && name == "memory" {
			q = append(q, yaml.MapItem{Key: "limit", Value: *a})
		} else if a != nil {
			if n, err := strconv.ParseUint(*a, 10, 31); err == nil {
				q = append(q, yaml.MapItem{Key: "limit", Value: n})
			} else {
				x.site.note(x.about+": "+name+"="+*a, "it is no number")
			}
		}
		if x.weight != "" {
			n, _ := strconv.ParseUint(x.weight, 10, 31) // it was looked at
			q = append(q, yaml.MapItem{Key: "weight", Value: n})
		}
		if len(q) > 0 {
			quotas = append(quotas, yaml.MapItem{Key: name, Value: q})
		}
	}
	if len(quotas) > 0 {
		all = append(all, yaml.MapItem{Key: "pools", Value: yaml.MapSlice{{Key: "*", Value: quotas}}})
	}
	all = append(all, x.rest...)
	if len(x.user) > 0 {
		all = append(all, yaml.MapItem{Key: "userLimit", Value: x.user})
	}
	return all
}
