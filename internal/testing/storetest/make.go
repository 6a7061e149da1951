package storetest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/store"
)

// epoch is when the tests' workloads begin; one is created every second.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

// workload makes the first version of another one.
func (w *world) workload(edit ...func(*core.Workload)) *core.Workload {
	w.seq++
	return workload(w.seq, edit...)
}

func workload(seq int64, edit ...func(*core.Workload)) *core.Workload {
	at := epoch.Add(time.Duration(seq) * time.Second)
	n := &core.Workload{
		ID: core.WorkloadID(fmt.Sprintf("id%024d", seq)), Seq: seq, Name: fmt.Sprintf("job-%d", seq),
		Project: "default", Kind: lifecycle.Training, User: "ada",
		Spec: &spec.Document{
			Kind: lifecycle.Training, Name: fmt.Sprintf("job-%d", seq), Project: "default",
			Image: "ghcr.io/acme/train:1.4", Command: spec.Command{Argv: []string{"python3", "train.py"}},
			Env: map[string]string{"EPOCHS": "3"},
		},
		State:   lifecycle.State{Phase: lifecycle.Queued},
		Version: 1, CreatedAt: at, PhaseAt: at,
		Attempts: []core.Attempt{{QueuedAt: at}},
	}
	for _, e := range edit {
		e(n)
	}
	return n
}

func named(name string) func(*core.Workload) { return func(w *core.Workload) { w.Name = name } }

func in(p lifecycle.Phase) func(*core.Workload) {
	return func(w *core.Workload) {
		w.Phase, w.EndedAt = p, time.Time{}
		if p.End() {
			w.EndedAt = w.CreatedAt.Add(time.Hour)
		}
	}
}

// next is the version after w.
func next(w *core.Workload, edit ...func(*core.Workload)) *core.Workload {
	n := *w
	n.Version++
	for _, e := range edit {
		e(&n)
	}
	return &n
}

// transition makes another one of workload id.
func (w *world) transition(id core.WorkloadID) core.Transition {
	w.step++
	return core.Transition{
		Seq: w.step, Workload: id, Attempt: 1, From: lifecycle.Queued, Event: lifecycle.Reserve, To: lifecycle.Reserved,
		Target: lifecycle.Completed, Cause: lifecycle.CauseReclaim, For: "w-other", Reason: lifecycle.ReasonError, Message: "why", Actor: "scheduler",
		At: epoch.Add(time.Duration(w.step) * time.Millisecond),
	}
}

func task(id core.WorkloadID, attempt, index int) *core.Task {
	return &core.Task{
		ID: core.TaskID{Workload: id, Attempt: attempt, Index: index}, Role: "worker", Node: "node-1",
		Devices: []core.Share{{Device: "GPU-1", Index: 1, Milli: 1000}}, State: core.TaskRunning, PlacedAt: epoch,
	}
}

func batch(ws ...*core.Workload) *store.Batch { return &store.Batch{Workloads: ws} }

// sameWorkload fails unless got is want as it was committed in rev.
func sameWorkload(t *testing.T, got, want *core.Workload, rev core.Revision) {
	t.Helper()
	g, w := *got, *want
	w.Rev = rev
	if !g.Spec.Equal(w.Spec) {
		t.Errorf("workload %s: its document is %s; want %s", w.ID, spec.YAML(g.Spec), spec.YAML(w.Spec))
	}
	g.Spec, w.Spec = nil, nil
	same(t, "workload "+string(want.ID), g, w)
}

// same fails unless got is want with times cut to microseconds.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	w := reflect.New(reflect.TypeOf(want)).Elem()
	w.Set(reflect.ValueOf(want))
	if cut := cutTimes(w); !reflect.DeepEqual(got, cut.Interface()) {
		t.Errorf("%s:\n got %s\nwant %s", what, show(got), show(cut.Interface()))
	}
}

// cutTimes copies v with times in UTC cut to microseconds and empty lists nil:
// what a store must give back.
func cutTimes(v reflect.Value) reflect.Value {
	n := reflect.New(v.Type()).Elem()
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		if t := v.Interface().(time.Time); !t.IsZero() {
			n.Set(reflect.ValueOf(t.UTC().Add(-time.Duration(t.Nanosecond()%1000) * time.Nanosecond).Round(0)))
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			n.Field(i).Set(cutTimes(v.Field(i)))
		}
	case v.Kind() == reflect.Slice && v.Len() > 0:
		for i := range v.Len() {
			n = reflect.Append(n, cutTimes(v.Index(i)))
		}
	case v.Kind() == reflect.Slice, v.Kind() == reflect.Map && v.Len() == 0:
	default:
		n.Set(v)
	}
	return n
}

// show prints v with what its pointers point to.
func show(v any) string {
	x := reflect.ValueOf(v)
	switch {
	case x.Kind() == reflect.Pointer && !x.IsNil():
		return "&" + show(x.Elem().Interface())
	case x.Kind() == reflect.Slice:
		text := "["
		for i := range x.Len() {
			text += show(x.Index(i).Interface()) + " "
		}
		return text + "]"
	case x.Kind() == reflect.Struct && x.Type() != reflect.TypeFor[time.Time]():
		text := "{"
		for i := range x.NumField() {
			text += x.Type().Field(i).Name + ":" + show(x.Field(i).Interface()) + " "
		}
		return text + "}"
	default:
		text := fmt.Sprintf("%#v", v)
		if t, ok := v.(time.Time); ok {
			text = t.Format(time.RFC3339Nano)
		}
		if len(text) > 200 {
			text = text[:200] + "…"
		}
		return text
	}
}

// fill gives every field that v reaches a value that is not zero, different
// ones to different fields.
func fill(v reflect.Value, count *int) {
	*count++
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(epoch.Add(time.Duration(*count) * time.Microsecond)))
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.Set(reflect.ValueOf(json.RawMessage(strconv.Itoa(*count))))
	case v.Type() == reflect.TypeFor[lifecycle.Phase]():
		all := lifecycle.Phases()
		v.SetString(string(all[*count%len(all)].Phase))
	case v.Type() == reflect.TypeFor[*spec.Document]():
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), count)
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), count)
		fill(v.Index(1), count)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), count)
	case v.Kind() == reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, count)
		fill(value, count)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprintf("text %d", *count))
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(int64(*count))
	case v.CanUint():
		v.SetUint(uint64(*count))
	case v.CanFloat():
		v.SetFloat(float64(*count) + 0.1)
	default:
		panic("storetest: fill knows no " + v.Type().String())
	}
}

func ids(ws []*core.Workload) []int64 {
	seqs := make([]int64, 0, len(ws))
	for _, w := range ws {
		seqs = append(seqs, w.Seq)
	}
	return seqs
}

// expect fails unless the items have these Seqs in this order.
func expect(t *testing.T, what string, items []*core.Workload, seqs ...int64) {
	t.Helper()
	if got := ids(items); !slices.Equal(got, seqs) {
		t.Errorf("%s: got %v, want %v", what, got, seqs)
	}
}
