package accounting

import (
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/table"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
)

// kind is a sort of records as JSON has it: the name of their list, and the form
// of one. Names and forms are those of Slurm's database API.
type kind struct {
	list string
	form func(r cells) terms.Object
}

// recordsOf is of which kind records with these fields are. Users and accounts
// with their associations are associations.
func recordsOf(known []table.Column[cells]) kind {
	has := map[string]bool{}
	for _, f := range known {
		has[f.Name] = true
	}
	switch {
	case has["Share"] && has["Account"]:
		return kind{"associations", associationJSON}
	case has["ControlHost"]:
		return kind{"clusters", clusterJSON}
	case has["Descr"]:
		return kind{"accounts", accountJSON}
	case has["User"]:
		return kind{"users", userJSON}
	case has["UsageFactor"]:
		return kind{"qos", qosJSON}
	default:
		return kind{"TRES", tresJSON}
	}
}

// recordsJSON is sacctmgr show --json.
func recordsJSON(c *compat.Call, k kind, rows []cells) terms.Object {
	var out []terms.Object
	for _, r := range rows {
		out = append(out, k.form(r))
	}
	return terms.Answered(c, "dbv0.0.38", k.list, out)
}

func accountJSON(r cells) terms.Object {
	return terms.Object{"name": r["Account"], "description": r["Descr"], "organization": r["Org"], "associations": []any{}, "coordinators": []any{}, "flags": []any{}}
}

func userJSON(r cells) terms.Object {
	return terms.Object{
		"name": r["User"], "administrator_level": r["Admin"], "default": terms.Object{"account": r["Def Acct"], "wckey": ""}, "associations": []any{}, "coordinators": []any{}, "flags": []any{},
	}
}

func associationJSON(r cells) terms.Object {
	return terms.Object{
		"account": r["Account"], "cluster": r["Cluster"], "user": r["User"], "partition": r["Partition"], "parent_account": "", "default": terms.Object{"qos": r["Def QOS"]},
		"qos": listed(r["QOS"]), "priority": 0, "shares_raw": 1, "flags": []any{}, "is_default": r["User"] != "" && r["Account"] == r["Def Acct"],
		"max": terms.Object{"jobs": terms.Object{"per": terms.Object{"count": numbered(r["GrpJobs"])}}, "tres": terms.Object{"total": tresList(r["GrpTRES"])}},
	}
}

func clusterJSON(r cells) terms.Object {
	return terms.Object{"name": r["Cluster"], "controller": terms.Object{"host": r["ControlHost"], "port": numbered(r["ControlPort"])}, "flags": []any{}, "tres": []any{}}
}

func qosJSON(r cells) terms.Object {
	factor, _ := strconv.ParseFloat(r["UsageFactor"], 64) // made of a number
	return terms.Object{
		"name": r["Name"], "description": r["Name"], "priority": numbered(r["Priority"]), "flags": []any{}, "usage_factor": factor,
		"preempt": terms.Object{"mode": []string{strings.ToUpper(r["PreemptMode"])}, "list": []any{}},
		"limits":  terms.Object{"grace_time": 0, "max": terms.Object{"tres": terms.Object{"total": []any{}}, "jobs": terms.Object{}}},
	}
}

func tresJSON(r cells) terms.Object {
	return terms.Object{"type": r["Type"], "name": r["Name"], "id": numbered(r["ID"]), "count": 0}
}

// tresList are amounts such as gres/gpu=8.
func tresList(text string) []terms.Object {
	out := []terms.Object{}
	for _, item := range listed(text) {
		what, amount, _ := strings.Cut(item, "=")
		sort, name, _ := strings.Cut(what, "/")
		count, err := strconv.ParseFloat(amount, 64)
		if err == nil {
			out = append(out, terms.Object{"type": sort, "name": name, "count": count})
		}
	}
	return out
}

func listed(text string) []string {
	if text == "" {
		return []string{}
	}
	return strings.Split(text, ",")
}

// numbered is a number in a cell; nil: there is none.
func numbered(text string) any {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil
	}
	return n
}
