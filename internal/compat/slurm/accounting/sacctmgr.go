package accounting

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/table"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
	"github.com/musterhq/muster/internal/core/amount"
	"github.com/musterhq/muster/internal/core/spec"
)

// Sacctmgr is sacctmgr, as far as it reads: projects are its accounts, priorities
// its QOS.
func Sacctmgr() *compat.Command {
	void := func(name, why string) *compat.Command { return &compat.Command{Use: name, Void: why} }
	return &compat.Command{
		Use: "sacctmgr", Words: &terms.Words, Short: "Clusters, accounts, users and what they may use", Loose: true,
		Long: `Shows projects as accounts, priorities as QOS, and who may use which: here
everybody may submit to every project. What it changes in Slurm, muster's own
commands change here.`,
		Global: []compat.Flag{
			{Names: "associations s", Does: "users and accounts with their associations"},
			{Names: "immediate i", Void: "nothing is changed."},
			{Names: "json", Does: "as JSON"},
			{Names: "noheader n", Does: "no lines of titles"},
			{Names: "oneliner o", Void: "each record has one line."},
			{Names: "parsable p", Does: "fields with | between them and at the end"},
			{Names: "parsable2 P", Does: "fields with | between them"},
			{Names: "quiet Q", Void: "there is nothing more to tell."},
			{Names: "readonly r", Void: "nothing is changed."},
			{Names: "verbose v", Void: "there is nothing more to tell."},
			{Names: "yaml", Does: "as YAML"},
		},
		Flags: []compat.Flag{terms.Version},
		Run: func(c *compat.Call) error {
			if done, err := terms.Asked(c); done {
				return err
			}
			return cli.Wrong("sacctmgr needs a command", "sacctmgr show association, for example; sacctmgr --help lists the commands")
		},
		Most: compat.All,
		Sub: []*compat.Command{
			{Use: "show ENTITY [NAME…] [format=FIELDS]", Also: "list", Short: "Clusters, accounts, users, associations, QOS or TRES", Most: compat.All, Run: showRecords},
			{Use: "version", Short: "Print the version", Run: terms.PrintVersion},
			void("add", "muster project create NAME makes an account; users need no record."),
			void("create", "muster project create NAME makes an account; users need no record."),
			void("modify", "muster project set NAME changes what an account may use; scontrol update JobId=N changes a job."),
			void("delete", "muster project delete NAME deletes an account."),
			void("remove", "muster project delete NAME deletes an account."),
			void("archive", "jobs are kept as long as the server was told."),
			void("dump", "muster project list -o yaml shows what there is."),
			void("load", "muster apply -f FILE makes what a file says."),
			void("reconfigure", "the server has no configuration file to read again."),
			void("shutdown", "muster server stop ends the server."),
			void("clear", "statistics are not kept apart."),
			void("ping", "scontrol ping asks whether the server answers."),
		},
	}
}

// cells are those of a line, by their title.
type cells = map[string]string

func columnsTitled(fields ...any) []table.Column[cells] {
	var out []table.Column[cells]
	for i := 0; i < len(fields); i += 2 {
		name := fields[i].(string)
		out = append(out, table.Column[cells]{Name: name, Width: fields[i+1].(int), Value: func(r cells) string { return r[name] }})
	}
	return out
}

// Fields by entity, in the order and as wide as Slurm 22.05 shows them. Those
// behind the first so many are shown only where format= names them.
var (
	clusterFields = columnsTitled("Cluster", 10, "ControlHost", 15, "ControlPort", 12, "RPC", 5, "Share", 9, "GrpJobs", 7, "GrpTRES", 13, "GrpSubmit", 9, "MaxJobs", 7,
		"MaxTRES", 13, "MaxSubmit", 9, "MaxWall", 11, "QOS", 20, "Def QOS", 9)
	accountRecordFields = columnsTitled("Account", 10, "Descr", 20, "Org", 20)
	userFields          = columnsTitled("User", 10, "Def Acct", 10, "Admin", 9)
	associationFields   = columnsTitled("Cluster", 10, "Account", 10, "User", 10, "Partition", 10, "Share", 9, "Priority", 10, "GrpJobs", 7, "GrpTRES", 13, "GrpSubmit", 9, "GrpWall", 11,
		"GrpTRESMins", 13, "MaxJobs", 7, "MaxTRES", 13, "MaxTRESPerNode", 14, "MaxSubmit", 9, "MaxWall", 11, "MaxTRESMins", 13, "QOS", 20, "Def QOS", 9, "GrpTRESRunMins", 13)
	qosFields = columnsTitled("Name", 10, "Priority", 10, "GraceTime", 10, "Preempt", 10, "PreemptExemptTime", 19, "PreemptMode", 11, "Flags", 40, "UsageThres", 10, "UsageFactor", 11,
		"GrpTRES", 13, "GrpTRESMins", 13, "GrpTRESRunMins", 13, "GrpJobs", 7, "GrpSubmit", 9, "GrpWall", 11, "MaxTRES", 13, "MaxTRESPerNode", 14, "MaxTRESMins", 13, "MaxWall", 11,
		"MaxTRESPU", 13, "MaxJobsPU", 9, "MaxSubmitPU", 11, "MaxTRESPA", 13, "MaxJobsPA", 9, "MaxSubmitPA", 11, "MinTRES", 13)
	tresFields = columnsTitled("Type", 8, "Name", 15, "ID", 6)
)

func showRecords(c *compat.Call) error {
	entity := strings.ToLower(c.First())
	names, wanted, format, err := conditions(c.Args[min(1, len(c.Args)):])
	if err != nil {
		return err
	}
	with := c.Bool("associations") || slices.Contains(names, "withassoc") || slices.Contains(names, "withassociation")
	names = slices.DeleteFunc(names, func(n string) bool {
		return slices.Contains([]string{"where", "withassoc", "withassociation", "set"}, strings.ToLower(n))
	})
	is := func(word string, least int) bool { return len(entity) >= least && strings.HasPrefix(word+"s", entity) }
	var known []table.Column[cells]
	var rows []cells
	switch {
	case is("cluster", 2):
		known = clusterFields
		rows, err = clusterRecords(c)
		wanted["cluster"] = append(wanted["cluster"], names...)
	case is("account", 2) && !with:
		known = accountRecordFields
		rows, err = accountRecords(c)
		wanted["account"] = append(wanted["account"], names...)
	case is("user", 1) && !with:
		known = userFields
		rows, err = userRecords(c, append(names, wanted["user"]...))
		wanted["user"] = append(wanted["user"], names...)
	case is("association", 2), is("user", 1), is("account", 2):
		known = associationFields
		key := "account"
		switch {
		case is("user", 1):
			key = "user"
			known = slices.Concat(userFields, slices.DeleteFunc(slices.Clone(associationFields), func(f table.Column[cells]) bool { return f.Name == "User" }))
		case is("association", 2):
			key = ""
		}
		if key != "" {
			wanted[key] = append(wanted[key], names...)
		}
		rows, err = associationRecords(c, wanted["user"])
		if key == "user" {
			rows = slices.DeleteFunc(rows, func(r cells) bool { return r["User"] == "" })
		}
	case entity == "qos":
		known, rows = qosFields, qosRecords()
		wanted["name"] = append(wanted["name"], names...)
	case is("tres", 2):
		known, rows = tresFields, tresRecords()
	case entity == "":
		return cli.Wrong("No valid entity in list command", "account, association, cluster, qos, tres or user")
	default:
		return cli.Wrong(fmt.Sprintf("sacctmgr show %s: there are no such records here", entity), "account, association, cluster, qos, tres or user; scontrol show reservation, licenses and config show the rest")
	}
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r cells) bool {
		for key, values := range wanted {
			field := map[string]string{"cluster": "Cluster", "account": "Account", "user": "User", "name": "Name", "qos": "QOS"}[key]
			if len(values) > 0 && !slices.ContainsFunc(values, func(v string) bool { return strings.EqualFold(v, r[field]) }) {
				return true
			}
		}
		return false
	})
	if c.Bool("json") || c.Bool("yaml") {
		_, err := terms.Structured(c, recordsJSON(c, recordsOf(known), rows))
		return err
	}
	columns := known
	if format != "" {
		if columns, err = table.Choose(spaceless(known), fieldTitles(format), "the fields are "+strings.Join(table.Names(spaceless(known)), ", ")); err != nil {
			return err
		}
	}
	return table.Print(c, columns, rows)
}

// spaceless has the fields with titles of two words found by one: defaultqos.
func spaceless(known []table.Column[cells]) []table.Column[cells] {
	out := slices.Clone(known)
	for i, f := range out {
		if strings.Contains(f.Name, " ") {
			out[i].Name = strings.ReplaceAll(f.Name, " ", "")
		}
	}
	return out
}

// fieldTitles writes the long names of fields as their titles.
func fieldTitles(format string) string {
	var words []string
	for word := range strings.SplitSeq(format, ",") {
		name, width, sized := strings.Cut(strings.TrimSpace(word), "%")
		low := strings.ToLower(name)
		switch {
		case strings.HasPrefix(low, "default"):
			name = "Def" + name[len("default"):]
			if strings.EqualFold(name, "defaccount") {
				name = "DefAcct"
			}
		case strings.HasPrefix(low, "description"):
			name = "Descr"
		case strings.HasPrefix(low, "organization"):
			name = "Org"
		case low == "acct":
			name = "Account"
		case strings.HasPrefix(low, "fairshare"):
			name = "Share"
		case strings.HasPrefix(low, "adminlevel"):
			name = "Admin"
		}
		if sized {
			name += "%" + width
		}
		words = append(words, name)
	}
	return strings.Join(words, ",")
}

// conditions are the words behind an entity: names, NAME=VALUES, and format=.
func conditions(words []string) (names []string, wanted map[string][]string, format string, err error) {
	wanted = map[string][]string{}
	for _, word := range words {
		key, value, pair := strings.Cut(word, "=")
		key = strings.ToLower(key)
		switch {
		case !pair:
			names = append(names, strings.Split(word, ",")...)
		case strings.HasPrefix("format", key) && len(key) > 1:
			format = value
		default:
			full := ""
			for _, k := range []string{"cluster", "account", "user", "name", "qos"} {
				if strings.HasPrefix(k+"s", key) && len(key) > 1 {
					full = k
				}
			}
			if full == "" {
				return nil, nil, "", cli.Wrong(fmt.Sprintf("Unknown condition: %s", word), "account=, cluster=, name=, user= and format=")
			}
			wanted[full] = append(wanted[full], strings.Split(value, ",")...)
		}
	}
	return names, wanted, format, nil
}

func clusterRecords(c *compat.Call) ([]cells, error) {
	p, err := compat.Places(c.Context, c.Tool)
	if err != nil {
		return nil, err
	}
	var out []cells
	for _, cluster := range p.Clusters {
		out = append(out, cells{"Cluster": cluster.Name, "QOS": strings.Join(qosNames(), ",")})
	}
	return out, nil
}

func projects(c *compat.Call) ([]api.Project, error) {
	conn, err := c.Connect(c.Context)
	if err != nil {
		return nil, err
	}
	list, err := conn.Projects.List(c.Context)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(p api.Project) bool { return p.Department }), nil
}

func accountRecords(c *compat.Call) ([]cells, error) {
	all, err := projects(c)
	var out []cells
	for _, p := range all {
		org := p.Parent
		if org == "" {
			org = p.Name
		}
		out = append(out, cells{"Account": p.Name, "Descr": p.Name, "Org": org})
	}
	return out, err
}

// userNames are those that are asked for, or oneself and whoever has jobs:
// nobody else has told the server of himself.
func userNames(c *compat.Call, names []string) ([]string, error) {
	if len(names) > 0 {
		return names, nil
	}
	users := []string{c.Me()}
	_, err := c.Pages(c.Context, client.ListOptions{Live: true, Bare: true}, 0, func(w *api.Workload) bool {
		if !slices.Contains(users, w.User) {
			users = append(users, w.User)
		}
		return false
	})
	slices.Sort(users)
	return users, err
}

func userRecords(c *compat.Call, names []string) ([]cells, error) {
	users, err := userNames(c, names)
	var out []cells
	for _, u := range users {
		out = append(out, cells{"User": u, "Def Acct": defaultProject(c), "Admin": "None"})
	}
	return out, err
}

func defaultProject(c *compat.Call) string {
	if p := c.Setting("MUSTER_PROJECT"); p != "" {
		return p
	}
	return "default"
}

// associationRecords are accounts, each with everybody: all may submit to all.
func associationRecords(c *compat.Call, names []string) ([]cells, error) {
	all, err := projects(c)
	if err != nil {
		return nil, err
	}
	users, err := userNames(c, names)
	if err != nil {
		return nil, err
	}
	p, err := compat.Places(c.Context, c.Tool)
	if err != nil {
		return nil, err
	}
	var out []cells
	for _, cluster := range p.Clusters {
		for _, project := range all {
			r := cells{"Cluster": cluster.Name, "Account": project.Name, "QOS": strings.Join(qosNames(), ","), "Def QOS": spec.Train.String()}
			if project.MaxRunning > 0 {
				r["GrpJobs"] = strconv.Itoa(project.MaxRunning)
			}
			if gpus, bound := gpuLimit(project); bound {
				r["GrpTRES"] = "gres/gpu=" + amount.GPUs(gpus)
			}
			out = append(out, r)
			for _, u := range users {
				out = append(out, cells{"Cluster": cluster.Name, "Account": project.Name, "User": u, "QOS": r["QOS"], "Def QOS": r["Def QOS"], "Def Acct": defaultProject(c), "Admin": "None"})
			}
		}
	}
	return out, nil
}

// gpuLimit is how many GPUs a project may have in all pools together.
func gpuLimit(p api.Project) (total float64, bound bool) {
	for _, q := range p.Pools {
		if q.GPU == nil || q.GPU.Limit == nil {
			return 0, false
		}
		total, bound = total+*q.GPU.Limit, true
	}
	return total, bound
}

// grades are the priorities that have names.
var grades = []spec.Priority{spec.VeryLow, spec.Low, spec.Train, spec.MediumLow, spec.InteractivePreemptible, spec.Medium, spec.MediumHigh, spec.Interactive, spec.High, spec.VeryHigh}

func qosNames() []string {
	var out []string
	for _, p := range grades {
		out = append(out, p.String())
	}
	return out
}

func qosRecords() []cells {
	var out []cells
	for _, p := range grades {
		out = append(out, cells{"Name": p.String(), "Priority": strconv.Itoa(int(p)), "GraceTime": "00:00:00", "PreemptMode": "requeue", "UsageFactor": "1.000000"})
	}
	return out
}

func tresRecords() []cells {
	return []cells{{"Type": "cpu", "ID": "1"}, {"Type": "mem", "ID": "2"}, {"Type": "node", "ID": "4"}, {"Type": "gres", "Name": "gpu", "ID": "1001"}}
}
