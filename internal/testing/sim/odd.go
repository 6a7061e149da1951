package sim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/access"
	"github.com/musterhq/muster/internal/engine/asset"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/explanation"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/recurring"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/engine/review"
	"github.com/musterhq/muster/internal/engine/spending"
	"github.com/musterhq/muster/internal/engine/submission"
)

// ofUsers are what makes the commands that users, and those who look after projects,
// may give.
func ofUsers() map[string]any {
	return map[string]any{
		"access.Switch": access.Switch, "access.SwitchAudit": access.SwitchAudit, "access.OpenToMachine": access.OpenToMachine, "access.CreateRole": access.CreateRole, "access.DeleteRole": access.DeleteRole,
		"access.CreateRule": access.CreateRule, "access.DeleteRule": access.DeleteRule, "access.CreateToken": access.CreateToken, "access.RevokeToken": access.RevokeToken, "access.EditUser": access.EditUser,
		"access.DeleteUser": access.DeleteUser, "access.Used": access.Used,
		"asset.Take": asset.Take, "organisation.Templates": organisation.Templates,
		"organisation.Organise": organisation.Organise, "organisation.SetRules": organisation.SetRules, "organisation.CreateProject": organisation.CreateProject, "organisation.CordonNode": organisation.CordonNode,
		"organisation.LabelNode": organisation.LabelNode, "organisation.TaintNode": organisation.TaintNode, "organisation.Policies": organisation.Policies, "organisation.EffectivePolicy": organisation.EffectivePolicy,
		"organisation.Licenses": organisation.Licenses, "organisation.Reservations": organisation.Reservations, "organisation.ReservationAs": organisation.ReservationAs, "organisation.EditTemplate": organisation.EditTemplate,
		"organisation.DeleteTemplate": organisation.DeleteTemplate, "organisation.DeleteSecret": organisation.DeleteSecret,
		"organisation.AddSubscription": organisation.AddSubscription, "organisation.DropSubscription": organisation.DropSubscription, "organisation.TestDelivery": organisation.TestDelivery, "organisation.Redeliver": organisation.Redeliver,
		"recurring.Put": recurring.Put, "recurring.Suspend": recurring.Suspend, "recurring.RunNow": recurring.RunNow, "recurring.Get": recurring.Get, "recurring.List": recurring.List, "recurring.Delete": recurring.Delete,
		"review.SetCheck": review.SetCheck, "review.DropCheck": review.DropCheck, "review.Checks": review.Checks, "review.Check": review.Check, "review.Approvals": review.Approvals, "review.Delegate": review.Delegate,
		"review.Revoke": review.Revoke, "review.Delegations": review.Delegations, "review.Images": review.Images, "review.ForgetImage": review.ForgetImage,
		"spending.SetPrices": spending.SetPrices, "spending.Prices": spending.Prices, "spending.Budgets": spending.Budgets,
		"submission.Submit": submission.Submit, "submission.SubmitMany": submission.SubmitMany, "submission.SubmitTogether": submission.SubmitTogether, "submission.Amend": submission.Amend, "submission.Rewrite": submission.Rewrite, "submission.Revise": submission.Revise,
		"submission.Update": submission.Update, "submission.Scale": submission.Scale, "submission.Hold": submission.Hold, "submission.Release": submission.Release, "submission.Preempt": submission.Preempt,
		"submission.Restart": submission.Restart, "submission.Stop": submission.Stop, "submission.StopTasks": submission.StopTasks, "submission.PreemptTasks": submission.PreemptTasks, "submission.RestartTasks": submission.RestartTasks, "submission.HoldTasks": submission.HoldTasks, "submission.ReleaseTasks": submission.ReleaseTasks,
		"submission.Delete": submission.Delete, "submission.Decide": submission.Decide,
		"submission.Answered": submission.Answered, "submission.Note": submission.Note, "submission.NoteStep": submission.NoteStep,
		"explanation.StudyOf": explanation.StudyOf, "explanation.Explain": explanation.Explain, "explanation.Foremost": explanation.Foremost,
		"report.PreviewOf": report.PreviewOf, "report.Standings": report.Standings,
	}
}

// usual are, by the name of a field, what stands there in most that people ask for.
var usual = map[string][]string{
	"Name": {"a", "b", "lab", "w1", "w2", "x", "y", "default", "a0", "b0", "backend-a"}, "Scope": {"", "a", "b", "lab"}, "Project": {"a", "b", "lab", "default"}, "Parent": {"", "lab"},
	"Role": {"viewer", "l1-researcher", "project-lead", "x", "y"}, "Kind": {"user", "group", "token", "service-account", "image", "environment", "compute", "data", "webhook"}, "Verb": {"create", "read", "update", "delete", "approve"},
	"Noun": {"workloads", "workspaces", "templates", "credentials", "projects"}, "Cron": {"0 3 * * *", "*/5 * * * *", "@hourly"}, "TimeZone": {"UTC", "Europe/Berlin"}, "Concurrency": {"allow", "forbid", "replace"},
	"Period": {"day", "week", "month", ""}, "Currency": {"EUR", "USD"}, "Pool": {"", "backend-a", "backend-b", "default"}, "GPUType": {"", "A100", "H100"}, "From": {"ann", "bob"}, "To": {"ann", "bob"},
	"User": {"ann", "bob", "sim"}, "Actor": {"user:sim"}, "Effect": {"NoSchedule", "NoExecute"},
	"Document": {`{"kind":"training","command":["true"]}`, `{"kind":"training","image":"busybox:1","resources":{"gpu":1},"command":["true"]}`, `{}`},
	"Says": {
		`{"type":"webhook","url":"https://127.0.0.1:9/"}`, `{"type":"approval","approvals":2,"role":"project-lead"}`, `{"type":"approval","users":["ann","bob"],"within":"1h","expired":"again"}`,
		`{"type":"image","trusted":["busybox:*"]}`, `{"type":"approval","minGpus":1,"when":"reservation"}`, `{"type":"nothing"}`,
	},
}

// odd draws commands of all sorts, of which some are right.
type odd struct {
	w      *World
	chance *rand.Rand
	makers map[string]any
	names  []string
	ids    []string // that answers have given
}

func newOdd(w *World, seed uint64) *odd {
	o := &odd{w: w, chance: rand.New(rand.NewPCG(seed, 77)), makers: ofUsers()}
	o.names = sortedKeys(o.makers)
	return o
}

// oddTexts stand for every text: names that are there, words of the API, and nonsense.
var oddTexts = []string{
	"", "a", "b", "lab", "ghost", "default", "sim", "user:sim", "w1", "w2", "w3", "a0", "b0", "backend-a", "gpu", "fake-A100", "viewer", "l1-researcher", "project-lead", "system-administrator", "read", "workloads", "user", "group",
	"token", "service-account", "warn", "hold", "stop", "day", "week", "month", "0 3 * * *", "@hourly", "*/5 * * * *", "UTC", "Europe/Berlin", "allow", "forbid", "replace", "http://127.0.0.1:9/hook", "mailto:a@example.org",
	"EUR", "busybox:1", "team=nlp", "approve", "reject", "webhook", "approval", "image", "environment", "compute", "data", "template", "true", "no such thing", "A b", "x=y", "high", "zone", "NoSchedule", "completed", "failed",
}

// command draws a command; ok is false where its maker takes what nobody can draw.
func (o *odd) command() (name string, work draft.Work) {
	name = o.names[o.chance.IntN(len(o.names))]
	maker := reflect.ValueOf(o.makers[name])
	args := make([]reflect.Value, maker.Type().NumIn())
	for i := range args {
		args[i] = o.draw(maker.Type().In(i), 0)
	}
	made := maker.Call(args)[0]
	// What it answers is recorded, and not what it is.
	recorded := reflect.MakeFunc(made.Type(), func(in []reflect.Value) []reflect.Value {
		out := made.Call(in)
		if out[1].IsNil() {
			o.w.recorded("answers", []any{name, out[0].Interface()})
			o.learn(out[0].Interface())
		}
		return out
	})
	reflect.ValueOf(&work).Elem().Set(recorded)
	return name, work
}

// learn remembers what things are called of which an answer tells.
func (o *odd) learn(answer any) {
	text, _ := json.Marshal(answer) // what cannot be written has no names
	for _, m := range called.FindAllSubmatch(text, 20) {
		o.ids = append(o.ids, string(m[1]))
	}
	o.ids = o.ids[max(0, len(o.ids)-30):]
}

var called = regexp.MustCompile(`(?i)"(?:id|name)":"([^"]+)"`)

// draw is a value of a type.
func (o *odd) draw(t reflect.Type, depth int) reflect.Value {
	v := reflect.New(t).Elem()
	switch t {
	case reflect.TypeFor[*spec.Document]():
		doc := spec.WithDefaults(o.w.document(fmt.Sprint("w", o.chance.IntN(20))))
		return reflect.ValueOf(doc)
	case reflect.TypeFor[time.Time]():
		return reflect.ValueOf([]time.Time{{}, o.w.now, o.w.now.Add(time.Minute), o.w.now.Add(-time.Hour), o.w.now.Add(24 * time.Hour)}[o.chance.IntN(5)])
	case reflect.TypeFor[time.Duration](), reflect.TypeFor[spec.Duration]():
		v.SetInt(int64([]time.Duration{0, time.Second, time.Minute, time.Hour, -time.Second, 48 * time.Hour}[o.chance.IntN(6)]))
		return v
	case reflect.TypeFor[rbac.Caller]():
		return reflect.ValueOf([]rbac.Caller{{Name: "sim", Owner: true}, {Name: "sim", Owner: true}, {Name: "ann", Kind: core.SubjectUser}, {Name: "bob", Kind: core.SubjectUser, Token: "t", Scope: "a"}}[o.chance.IntN(4)])
	case reflect.TypeFor[draft.Ref]():
		if n := len(o.w.users.names); n > 0 && o.chance.IntN(5) > 0 {
			return reflect.ValueOf(o.w.users.names[o.chance.IntN(n)])
		}
	case reflect.TypeFor[core.ProjectID]():
		return reflect.ValueOf([]core.ProjectID{"a", "b", "default", "lab", "ghost", ""}[o.chance.IntN(6)])
	case reflect.TypeFor[lifecycle.Kind]():
		return reflect.ValueOf([]lifecycle.Kind{lifecycle.Training, lifecycle.Distributed, lifecycle.Workspace, lifecycle.Inference, ""}[o.chance.IntN(5)])
	case reflect.TypeFor[json.RawMessage]():
		return reflect.ValueOf(json.RawMessage([]string{`1`, `"x"`, `{"a":1}`, `null`, `[`}[o.chance.IntN(5)]))
	case reflect.TypeFor[organisation.Record]():
		all := []organisation.Record{organisation.RecordProject, organisation.RecordDepartment, organisation.RecordPool, organisation.RecordLicense, organisation.RecordNode, organisation.RecordReservation, organisation.RecordPolicy, organisation.RecordUserBound, organisation.RecordPrices}
		return reflect.ValueOf(all[o.chance.IntN(len(all))])
	}
	if t == reflect.TypeFor[func(*spec.Document) (*spec.Document, error)]() {
		return reflect.ValueOf(o.amend())
	}
	switch t.Kind() {
	case reflect.String:
		v.SetString(oddTexts[o.chance.IntN(len(oddTexts))])
		if len(o.ids) > 0 && o.chance.IntN(2) == 0 {
			v.SetString(o.ids[o.chance.IntN(len(o.ids))])
		}
	case reflect.Bool:
		v.SetBool(o.chance.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt([]int64{0, 1, 2, 3, 4, 8, 100, -1}[o.chance.IntN(8)])
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(o.chance.IntN(100)))
	case reflect.Float32, reflect.Float64:
		v.SetFloat([]float64{0, 0.5, 1, 2, 4, 0.8, 100, -1}[o.chance.IntN(8)])
	case reflect.Pointer:
		if depth < 6 && o.chance.IntN(5) > 1 {
			v.Set(reflect.New(t.Elem()))
			v.Elem().Set(o.draw(t.Elem(), depth+1))
		}
	case reflect.Slice:
		for n := o.chance.IntN(3); n > 0 && depth < 6; n-- {
			v = reflect.Append(v, o.draw(t.Elem(), depth+1))
		}
	case reflect.Array:
		for i := range t.Len() {
			v.Index(i).Set(o.draw(t.Elem(), depth+1))
		}
	case reflect.Map:
		for n := o.chance.IntN(3); n > 0 && depth < 6; n-- {
			if v.IsNil() {
				v.Set(reflect.MakeMap(t))
			}
			v.SetMapIndex(o.draw(t.Key(), depth+1), o.draw(t.Elem(), depth+1))
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			always := f.Type == reflect.TypeFor[*spec.Document]() || f.Type.Kind() == reflect.Func // whoever calls has these
			right, known := usual[f.Name]
			switch {
			case !f.IsExported():
			case known && f.Type.Kind() == reflect.String && o.chance.IntN(6) > 0:
				v.Field(i).SetString(right[o.chance.IntN(len(right))])
			case known && f.Type == reflect.TypeFor[[]byte]() && o.chance.IntN(6) > 0:
				v.Field(i).SetBytes([]byte(right[o.chance.IntN(len(right))]))
			case f.Name == "Version" && o.chance.IntN(3) > 0, f.Name == "Runs": // of a schedule: what has become of it, which nobody asks for
			case always || o.chance.IntN(3) > 0:
				v.Field(i).Set(o.draw(f.Type, depth+1))
			}
		}
	case reflect.Func:
		return o.function(t, depth)
	case reflect.Interface:
		if t.NumMethod() == 0 && o.chance.IntN(2) == 0 {
			return reflect.ValueOf(&oddTexts[o.chance.IntN(len(oddTexts))]).Elem().Convert(t)
		}
	}
	return v
}

// amend changes a copy of a document as people do: little of it.
func (o *odd) amend() func(*spec.Document) (*spec.Document, error) {
	which, n := o.chance.IntN(7), o.chance.IntN(4)
	return func(d *spec.Document) (*spec.Document, error) {
		next := *d
		switch which {
		case 0:
			next.MaxDuration = spec.Duration(time.Duration(n) * time.Hour)
		case 1:
			next.Labels = map[string]string{"n": fmt.Sprint(n)}
		case 2:
			next.Priority = spec.Priority(25 * n)
		case 3:
			next.Preemptible = new(n > 1)
		case 4:
			next.Command.Argv = []string{"other", fmt.Sprint(n)}
		case 5:
			next.Resources.GPU.Count = n
		}
		return &next, nil
	}
}

// function is a function that changes what it is given, in some of its fields, and
// answers what is drawn once.
func (o *odd) function(t reflect.Type, depth int) reflect.Value {
	var out []reflect.Value
	for i := range t.NumOut() {
		out = append(out, o.draw(t.Out(i), depth+1))
	}
	sets := map[int]reflect.Value{}
	if t.NumIn() > 0 && t.In(0).Kind() == reflect.Pointer && t.In(0).Elem().Kind() == reflect.Struct {
		of := t.In(0).Elem()
		for i := range of.NumField() {
			if of.Field(i).IsExported() && of.Field(i).Name != "ID" && of.Field(i).Name != "Name" && o.chance.IntN(3) == 0 {
				sets[i] = o.draw(of.Field(i).Type, depth+1)
			}
		}
	}
	return reflect.MakeFunc(t, func(in []reflect.Value) []reflect.Value {
		if len(in) > 0 && in[0].Kind() == reflect.Pointer && !in[0].IsNil() {
			for i, x := range sets {
				in[0].Elem().Field(i).Set(x)
			}
		}
		return out
	})
}
